/**
 * Reads elements by the getters and methods of their prototypes: the fields of a form are properties of the form by their
 * names, and hide those that it has from its prototype, such as `id`, `children` or `parentNode`.
 */

interface Prototypes {
  EventTarget: EventTarget;
  Node: Node;
  Element: Element;
  Document: Document;
}

// The prototypes are read when they are needed first: a server that renders the app has none.
function getter<Owner extends keyof Prototypes, Name extends keyof Prototypes[Owner] & string>(owner: Owner, name: Name) {
  let get: ((this: Prototypes[Owner]) => Prototypes[Owner][Name]) | undefined;
  return (node: Prototypes[Owner]): Prototypes[Owner][Name] => (get ??= Object.getOwnPropertyDescriptor(window[owner].prototype, name)!.get!).call(node);
}

type Method = (...args: never[]) => unknown;

function method<Owner extends keyof Prototypes, Name extends keyof Prototypes[Owner] & string>(owner: Owner, name: Name) {
  type Call = Prototypes[Owner][Name] extends (...args: infer Args) => infer Result ? (node: Prototypes[Owner], ...args: Args) => Result : never;
  let run: Method | undefined;
  return ((node: Prototypes[Owner], ...args: never[]) => (run ??= window[owner].prototype[name as never] as Method).call(node, ...args)) as Call;
}

export const dispatchTo = method("EventTarget", "dispatchEvent");

export const nodeTypeOf = getter("Node", "nodeType");
export const parentNodeOf = getter("Node", "parentNode");
export const parentElementOf = getter("Node", "parentElement");
export const childNodesOf = getter("Node", "childNodes");
export const documentOf = getter("Node", "ownerDocument") as (node: Node) => Document;
export const isConnected = getter("Node", "isConnected");
export const rootNodeOf = method("Node", "getRootNode");
export const contains = method("Node", "contains");

export const localNameOf = getter("Element", "localName");
export const shadowRootOf = getter("Element", "shadowRoot");
export const assignedSlotOf = getter("Element", "assignedSlot");
export const attributeOf = method("Element", "getAttribute") as (element: Element, name: string) => string | null;
export const hasAttribute = method("Element", "hasAttribute");
export const matches = method("Element", "matches") as (element: Element, selector: string) => boolean;
export const closest = method("Element", "closest") as (element: Element, selector: string) => Element | null;
export const findElement = method("Element", "querySelector") as (element: Element, selector: string) => Element | null;
export const findElements = method("Element", "querySelectorAll") as (element: Element, selector: string) => NodeListOf<Element>;
export const isRendered = method("Element", "checkVisibility") as (element: Element) => boolean;
export const boxOf = method("Element", "getBoundingClientRect");
export const clientRectsOf = method("Element", "getClientRects");

export const windowOf = getter("Document", "defaultView");
export const documentElementOf = getter("Document", "documentElement");
export const bodyOf = getter("Document", "body");
export const activeElementOf = getter("Document", "activeElement");

/**
 * Reads elements by the getters and methods of their prototypes: the fields of a form are properties of the form by their
 * names, and hide those that it has from its prototype, such as `id`, `children` or `parentNode`.
 */

interface Prototypes {
  Node: Node;
  Element: Element;
  HTMLFormElement: HTMLFormElement;
}

type Native<Owner, Value> = Value extends (...args: infer Args) => infer Result ? (node: Owner, ...args: Args) => Result : (node: Owner) => Value;

/** Returns a function that reads a property, or calls a method, of the prototype of an interface. */
function native<Owner extends keyof Prototypes, Name extends keyof Prototypes[Owner] & string>(owner: Owner, name: Name): Native<Prototypes[Owner], Prototypes[Owner][Name]> {
  let run: (...args: unknown[]) => unknown;
  const call = (node: unknown, ...args: unknown[]) => {
    // Not earlier: a server that renders the app has no prototypes.
    if (!run) {
      const { get, value } = Object.getOwnPropertyDescriptor(window[owner].prototype, name)!;
      run = get ?? value;
    }
    return run.call(node, ...args);
  };
  return call as Native<Prototypes[Owner], Prototypes[Owner][Name]>;
}

export const nodeTypeOf = native("Node", "nodeType");
export const parentNodeOf = native("Node", "parentNode");
export const parentElementOf = native("Node", "parentElement");
export const childNodesOf = native("Node", "childNodes");
export const documentOf = native("Node", "ownerDocument") as (node: Node) => Document;
export const isConnected = native("Node", "isConnected");
export const rootNodeOf = native("Node", "getRootNode");
export const contains = native("Node", "contains");
export const textContentOf = native("Node", "textContent");

export const localNameOf = native("Element", "localName");
export const shadowRootOf = native("Element", "shadowRoot");
export const assignedSlotOf = native("Element", "assignedSlot");
export const attributeOf = native("Element", "getAttribute") as (element: Element, name: string) => string | null;
export const hasAttribute = native("Element", "hasAttribute");
export const matches = native("Element", "matches") as (element: Element, selector: string) => boolean;
export const closest = native("Element", "closest") as (element: Element, selector: string) => Element | null;
export const findElement = native("Element", "querySelector") as (element: Element, selector: string) => Element | null;
export const findElements = native("Element", "querySelectorAll") as (element: Element, selector: string) => NodeListOf<Element>;
export const isRendered = native("Element", "checkVisibility") as (element: Element) => boolean;
export const boxOf = native("Element", "getBoundingClientRect");
export const clientRectsOf = native("Element", "getClientRects");
export const elementsOf = native("HTMLFormElement", "elements");

/** Common reads of nodes by page tools, through prototypes ({@link read}). */

import { invoke, read } from "../../dom/native.ts";

export const nodeTypeOf = (node: Node) => read(node, "nodeType");
export const parentNodeOf = (node: Node) => read(node, "parentNode");
export const parentElementOf = (node: Node) => read(node, "parentElement");
export const childNodesOf = (node: Node) => read(node, "childNodes");
export const documentOf = (node: Node) => read(node, "ownerDocument") as Document;
export const isConnected = (node: Node) => read(node, "isConnected");
export const textContentOf = (node: Node) => read(node, "textContent");
export const rootNodeOf = (node: Node) => invoke(node, "getRootNode");
export const contains = (node: Node, other: Node | null) => invoke(node, "contains", other);

export const localNameOf = (element: Element) => read(element, "localName");
export const shadowRootOf = (element: Element) => read(element, "shadowRoot");
export const assignedSlotOf = (element: Element) => read(element, "assignedSlot");
export const attributeOf = (element: Element, name: string) => invoke(element, "getAttribute", name);
export const hasAttribute = (element: Element, name: string) => invoke(element, "hasAttribute", name);
export const matches = (element: Element, selector: string) => invoke(element, "matches", selector);
export const closest = (element: Element, selector: string) => invoke(element, "closest", selector);
export const findElement = (root: ParentNode, selector: string) => invoke(root, "querySelector", selector);
export const findElements = <Found extends Element>(root: ParentNode, selector: string) => invoke(root, "querySelectorAll", selector) as NodeListOf<Found>;
/** Returns the element with an id; `null` in a tree that is not in a document or shadow root. */
export const elementById = (root: Node, id: string): Element | null => read(root as Document, "getElementById")?.call(root as Document, id) ?? null;
export const isRendered = (element: Element) => invoke(element, "checkVisibility");
export const boxOf = (element: Element) => invoke(element, "getBoundingClientRect");
export const clientRectsOf = (element: Element) => invoke(element, "getClientRects");
export const elementsOf = (form: HTMLFormElement) => read(form, "elements");

/** Returns the root of a document; `null` while the document of a frame is loading. */
export const rootElementOf = (ownerDocument: Document) => read(ownerDocument, "documentElement") as HTMLElement | null;
export const bodyOf = (ownerDocument: Document) => read(ownerDocument, "body");
export const windowOf = (ownerDocument: Document) => read(ownerDocument, "defaultView");

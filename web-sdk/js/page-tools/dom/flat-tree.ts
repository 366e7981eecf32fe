/** The tree that the user sees: the document with its shadow roots, slots and frames of the same origin. */

import { invoke, read } from "../../dom/native.ts";
import { assignedSlotOf, childNodesOf, documentOf, hasAttribute, isConnected, localNameOf, nodeTypeOf, parentNodeOf, rootElementOf, shadowRootOf, windowOf } from "./native.ts";
import { hidingName, isAnyHidden } from "./unreadable.ts";

/** The window of an element, with its own constructors: those of a frame differ from those of the page. */
export type View = Window & typeof globalThis;

const ELEMENT = 1;
const DOCUMENT = 9;
const FRAGMENT = 11;

export const isElement = (node: Node | null | undefined): node is Element => !!node && nodeTypeOf(node) === ELEMENT;

/** Returns the window of a node. */
export const viewOf = (node: Node): View => {
  const ownerDocument: Document | null = documentOf(node);
  return ((ownerDocument && windowOf(ownerDocument)) ?? window) as View;
};

/** Returns whether an element is of an HTML class, whatever window it is from. */
export const is = <Name extends keyof HTMLElementTagNameMap>(node: Node | null | undefined, ...names: Name[]): node is HTMLElementTagNameMap[Name] =>
  isElement(node) && (names as string[]).includes(localNameOf(node));

export const isFrame = (element: Element): element is HTMLIFrameElement => /^i?frame$/.test(localNameOf(element));

/** Returns whether an element is the outermost one of a part that is reserved for the person. */
export const isPersonOnly = (element: Element): boolean => hasAttribute(element, "data-mcp-person") || localNameOf(element) === "mcp-web-ask";

/** Returns the document in a frame; `undefined` for another origin, or for a frame that is not in a page. */
export function frameDocument(frame: HTMLIFrameElement): Document | undefined {
  try {
    return frame.contentDocument ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns the displayed children of an element: those of its shadow root, those assigned to a slot, or its own. */
export function flatChildren(element: Element): ArrayLike<Node> {
  const shadowRoot = shadowRootOf(element);
  if (shadowRoot) return childNodesOf(shadowRoot);
  if (localNameOf(element) === "slot") {
    const assigned = invoke(element as HTMLSlotElement, "assignedNodes");
    if (assigned.length) return assigned;
  }
  return childNodesOf(element);
}

/**
 * Returns the parent of a node in the flat tree: also its slot, the host of its shadow root, or the frame of its document.
 */
export function flatParent(node: Node): Element | undefined {
  const slot = isElement(node) ? assignedSlotOf(node) : read(node as Text, "assignedSlot");
  if (slot) return slot;
  const parent = parentNodeOf(node);
  if (!parent) return undefined;
  const type = nodeTypeOf(parent);
  if (type === FRAGMENT) return read(parent as ShadowRoot, "host");
  if (type === DOCUMENT) return (windowOf(parent as Document)?.frameElement as Element | null) ?? undefined;
  return parent as Element;
}

/** Yields an element and its ancestors, from the inside to the outside. */
export function* flatAncestors(element: Element | undefined): Generator<Element> {
  for (let current = element; current; current = flatParent(current)) yield current;
}

/** Returns the nearest element that matches, which may be the given one. */
export function flatClosest(element: Element | undefined, isWanted: (element: Element) => unknown): Element | undefined {
  for (const current of flatAncestors(element)) if (isWanted(current)) return current;
  return undefined;
}

/** Returns whether an element is an unreadable form or inside one, or in an unreadable document. */
export const isUnreadable = (element: Element): boolean => isAnyHidden() && !!flatClosest(element, hidingName);

/** Returns whether an element is another one, or inside it. */
export const flatContains = (outer: Element, inner: Element | undefined): boolean => !!flatClosest(inner, (element) => element === outer);

/**
 * Yields an element and all elements inside it, including those in frames and shadow roots, in display order. Elements that
 * are reserved for the person are left out, unless `isAll` is set. Children are read one at a time, so that a caller that
 * stops early does not pay for thousands of them.
 */
export function* flatElements(root: Element, isAll = false): Generator<Element> {
  const pending: [nodes: ArrayLike<Node>, next: number][] = [[[root], 0]];
  for (let last = pending[0]; last; last = pending.at(-1)) {
    const element = last[0][last[1]++];
    if (!element) pending.pop();
    else if (isElement(element) && (isAll || !isPersonOnly(element))) {
      // After this call it is known whether a form cannot be read.
      hidingName(element);
      yield element;
      const document = isFrame(element) && frameDocument(element);
      const inner = document && rootElementOf(document);
      pending.push([inner ? [inner] : flatChildren(element), 0]);
    }
  }
}

/** Returns whether an element is in the page: not removed, and not in a document that its frame has left. */
export function isInPage(element: Element): boolean {
  for (let current = element; ; ) {
    const ownerDocument = documentOf(current);
    if (!isConnected(current)) return false;
    if (ownerDocument === document) return true;
    const frame = windowOf(ownerDocument)?.frameElement;
    if (!frame || read(frame as HTMLIFrameElement, "contentDocument") !== ownerDocument) return false;
    current = frame;
  }
}

/** Returns the focused element, including those inside shadow roots and frames. */
export function deepActiveElement(): Element | undefined {
  let active = read(document, "activeElement");
  for (;;) {
    const root: Document | ShadowRoot | null | undefined = active && (isFrame(active) ? frameDocument(active) : shadowRootOf(active));
    const inner = root && read(root, "activeElement");
    if (!inner) return active ?? undefined;
    active = inner;
  }
}

/** Returns the windows of the page: its own, and those of frames of the same origin, including nested ones. */
export function pageViews(view: View = window): View[] {
  const views = [view];
  for (let index = 0; index < view.frames.length; index++) {
    try {
      const inner = view.frames[index] as View;
      if (windowOf(inner.document)) views.push(...pageViews(inner));
    } catch {
      // A frame of another origin.
    }
  }
  return views;
}

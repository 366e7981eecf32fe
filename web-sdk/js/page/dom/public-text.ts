/** Texts without what the page keeps from AI clients: a name is made of the content of other elements. */

import { flatChildren, isElement } from "./flat-tree.ts";
import { getStyle, isPrivate, shownPart } from "./shown.ts";

/** The elements that an attribute names. */
export function referenced(element: Element, attribute: string): Element[] {
  const root = element.getRootNode() as Document | ShadowRoot;
  const ids = element.getAttribute(attribute)?.trim().split(/\s+/) ?? [];
  return ids.flatMap((id) => (id && root.getElementById?.(id)) || []);
}

/** Whether any of some elements is private, or has something private in it. */
export function hasPrivate(elements: Iterable<Element>): boolean {
  for (const element of elements) if (isPrivate(element) || element.querySelector("[data-mcp-private]")) return true;
  return false;
}

/** Returns the text of elements as it is shown, without what is private. */
export function publicText(elements: Iterable<Element>): string {
  const texts: string[] = [];
  for (const element of elements) if (!isPrivate(element)) addText(element, texts);
  return texts.join("").replace(/\s+/g, " ").trim();
}

function addText(element: Element, texts: string[]): void {
  if (element.hasAttribute("data-mcp-private")) return;
  const style = getStyle(element);
  if (shownPart(element, style) === "none") return;
  const isBlock = style.display !== "inline" && style.display !== "contents";
  if (isBlock) texts.push(" ");
  const children = flatChildren(element);
  for (let index = 0; index < children.length; index++) {
    const child = children[index]!;
    if (isElement(child)) addText(child, texts);
    else if (child.nodeType === Node.TEXT_NODE && style.visibility === "visible") texts.push((child as Text).data);
  }
  if (isBlock) texts.push(" ");
}

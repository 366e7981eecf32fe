/** Finds the open modal dialog: elements behind it cannot be used. */

import { invoke } from "../../dom/native.ts";
import { flatAncestors, flatContains, flatElements, flatParent, viewOf } from "./flat-tree.ts";
import { boxesOf, getStyle, hasNoViewport, isShown } from "./shown.ts";
import { hitElement } from "./hit.ts";
import { attributeOf, documentOf, localNameOf, matches } from "./native.ts";

/** Maximum number of elements to check that may be in front of a modal. */
const MAX_LOOKED_AT = 50;

/** Returns the front modal of a document: `showModal`, or `aria-modal`. */
export function openModal(root: Element): Element | undefined {
  const candidates = [...flatElements(root)].filter((element) => documentOf(element) === documentOf(root) && isModal(element));
  for (const candidate of candidates) {
    const box = boxesOf(candidate)[0];
    if (!box || hasNoViewport(viewOf(candidate))) continue;
    const hit = hitElement(documentOf(candidate), box.x + box.width / 2, box.y + box.height / 2);
    const front = candidates.findLast((one) => flatContains(one, hit));
    if (front) return front;
  }
  return candidates.at(-1);
}

function isModal(element: Element): boolean {
  if (localNameOf(element) === "dialog" && matches(element, ":modal")) return true;
  return attributeOf(element, "aria-modal") === "true" && isShown(element);
}

/**
 * Returns whether an element is behind a modal. Elements in it, around it, or in front of it are not: for example a list of
 * options that a library appends to the page while its dialog is open. The browser allows nothing in front of a modal
 * `<dialog>` except its content.
 */
export function isBehind(modal: Element, element: Element): boolean {
  if (flatContains(modal, element) || flatContains(element, modal)) return false;
  if (matches(modal, "dialog:modal")) return true;
  const around = new Set(flatAncestors(modal));
  let top = element;
  for (let parent = flatParent(top); parent && !around.has(parent); parent = flatParent(top)) top = parent;
  return !isInFront(modal, top);
}

/** Returns whether an element that follows the modal is positioned, and visible at its position. */
function isInFront(modal: Element, element: Element): boolean {
  if (!(invoke(modal, "compareDocumentPosition", element) & Node.DOCUMENT_POSITION_FOLLOWING)) return false;
  let looked = 0;
  let isPositioned = false;
  for (const inner of flatElements(element)) {
    if (++looked > MAX_LOOKED_AT) return false;
    isPositioned ||= /fixed|absolute/.test(getStyle(inner).position);
    const box = isPositioned && boxesOf(inner)[0];
    if (!box) continue;
    if (hasNoViewport(viewOf(inner))) return true;
    if (flatContains(element, hitElement(documentOf(inner), box.x + box.width / 2, box.y + box.height / 2))) return true;
  }
  return false;
}

/** The open modal dialog: what is behind it cannot be used. */

import { invoke } from "../../dom/native.ts";
import { flatAncestors, flatContains, flatElements, flatParent, viewOf } from "./flat-tree.ts";
import { boxesOf, getStyle, hasNoViewport, isShown } from "./shown.ts";
import { hitElement } from "./hit.ts";
import { attributeOf, documentOf, localNameOf, matches } from "./native.ts";

/** How many elements of what may be in front of a modal are looked at. */
const MAX_LOOKED_AT = 50;

/** Returns the modal that is in front in a document: `showModal`, or `aria-modal`. */
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
 * Whether an element is behind a modal. Not so what is in it or around it, nor what was put in front of it: a list of
 * options that a library appends to the page while its dialog is open. The browser lets nothing be in front of a modal
 * `<dialog>` but what is inside it.
 */
export function isBehind(modal: Element, element: Element): boolean {
  if (flatContains(modal, element) || flatContains(element, modal)) return false;
  if (matches(modal, "dialog:modal")) return true;
  const around = new Set(flatAncestors(modal));
  let top = element;
  for (let parent = flatParent(top); parent && !around.has(parent); parent = flatParent(top)) top = parent;
  return !isInFront(modal, top);
}

/** Whether an element that follows the modal is positioned, and is what is seen at its place. */
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

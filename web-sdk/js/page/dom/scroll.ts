/** Scrolling, as a wheel does it. */

import { dispatch } from "./dispatch.ts";
import { flatAncestors, viewOf } from "./flat-tree.ts";
import { centreOf } from "./hit.ts";
import { RELEASED, mouseFields } from "./pointer.ts";
import { getStyle, isScrollable } from "./shown.ts";

/** The part of what is seen by which the page is scrolled if an action does not say how far. */
const DEFAULT_PART = 0.8;

/** Scrolls the nearest element around one that can be scrolled so. Returns whether anything has moved. */
export function scroll(element: Element, deltaX: number | undefined, deltaY: number | undefined): boolean {
  const view = viewOf(element);
  const x = deltaX ?? 0;
  const y = deltaY ?? (deltaX === undefined ? Math.round(view.innerHeight * DEFAULT_PART) : 0);
  if (!dispatch(element, "wheel", { ...mouseFields(element, centreOf(element), RELEASED), deltaX: x, deltaY: y, deltaMode: 0 })) return true;
  for (const target of scrollers(element)) {
    const { scrollLeft, scrollTop } = target;
    target.scrollBy({ left: x, top: y, behavior: "instant" });
    if (target.scrollLeft === scrollLeft && target.scrollTop === scrollTop) continue;
    // A tab that is not shown renders nothing, and the browser fires this event when it renders.
    const { ownerDocument } = target;
    if (ownerDocument.visibilityState === "hidden") dispatch(target === ownerDocument.scrollingElement ? ownerDocument : target, "scroll");
    return true;
  }
  return false;
}

/** The elements around one that scroll, from the inside to the outside, then the page. */
function* scrollers(element: Element): Generator<Element> {
  for (const around of flatAncestors(element)) {
    const page = around.ownerDocument.scrollingElement;
    if (around.localName === "html" ? page : isScrollable(around, getStyle(around))) yield around.localName === "html" ? page! : around;
  }
}

/** Scrolls like a mouse wheel. */

import { invoke, read } from "../../dom/native.ts";
import { dispatch } from "./dispatch.ts";
import { flatAncestors, viewOf } from "./flat-tree.ts";
import { centreOf } from "./hit.ts";
import { documentOf, localNameOf } from "./native.ts";
import { RELEASED, mouseFields } from "./pointer.ts";
import { getStyle, isScrollable } from "./shown.ts";

/** The default distance of a scroll, as a part of the visible area. */
const DEFAULT_PART = 0.8;

/** Scrolls the nearest ancestor that can scroll in this direction. Returns whether anything has moved. */
export function scroll(element: Element, deltaX: number | undefined, deltaY: number | undefined): boolean {
  const view = viewOf(element);
  const x = deltaX ?? 0;
  const y = deltaY ?? (deltaX === undefined ? Math.round(view.innerHeight * DEFAULT_PART) : 0);
  if (!dispatch(element, "wheel", { ...mouseFields(element, centreOf(element), RELEASED), deltaX: x, deltaY: y, deltaMode: 0 })) return true;
  for (const target of scrollers(element)) {
    const hasMoved = watchScroll(target);
    Reflect.apply(read(target, "scrollBy"), target, [{ left: x, top: y, behavior: "instant" }]);
    if (!hasMoved()) continue;
    fireScroll(target);
    return true;
  }
  return false;
}

/** Scrolls an element into view. Returns whether anything has moved. */
export function scrollIntoView(element: Element): boolean {
  const places = [...scrollers(element)].map((target) => ({ target, hasMoved: watchScroll(target) }));
  invoke(element, "scrollIntoView", { block: "center", inline: "center", behavior: "instant" });
  const moved = places.filter(({ hasMoved }) => hasMoved());
  for (const { target } of moved) fireScroll(target);
  return moved.length > 0;
}

/** Returns a function that returns whether an element has scrolled meanwhile. */
function watchScroll(target: Element): () => boolean {
  const place = () => `${read(target, "scrollLeft")} ${read(target, "scrollTop")}`;
  const before = place();
  return () => place() !== before;
}

/** Fires the scroll event, which the browser fires when it renders, and therefore never in a hidden tab. */
export function fireScroll(target: Element): void {
  const ownerDocument = documentOf(target);
  if (read(ownerDocument, "visibilityState") !== "hidden") return;
  const isPage = target === read(ownerDocument, "scrollingElement");
  dispatch(isPage ? ownerDocument : target, "scroll", { bubbles: isPage });
}

/** Yields the scrolling ancestors of an element, from the inside to the outside, then the page. */
function* scrollers(element: Element): Generator<Element> {
  for (const around of flatAncestors(element)) {
    const scroller = localNameOf(around) === "html" ? read(documentOf(around), "scrollingElement") : isScrollable(around, getStyle(around)) && around;
    if (scroller) yield scroller;
  }
}

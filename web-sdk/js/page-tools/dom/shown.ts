/** Whether an element is shown, and what of it. Cheap: each element of a page is asked. */

import { invoke, read } from "../../dom/native.ts";
import { pictureOf, regionOf } from "./area.ts";
import { type View, flatAncestors, flatClosest, viewOf } from "./flat-tree.ts";
import { attributeOf, bodyOf, boxOf, clientRectsOf, documentOf, hasAttribute, isRendered, localNameOf, rootElementOf, shadowRootOf } from "./native.ts";
import { isPersonOnly } from "./person-mark.ts";

/** Elements that have no content that is shown, whatever their style says. */
const NEVER_SHOWN = new Set(["script", "style", "noscript", "template", "head", "title", "desc", "defs", "metadata", "datalist", "symbol"]);

/** Whether the window has no size: nothing has a place then, and nothing covers anything. */
export const hasNoViewport = (view: View): boolean => view.innerWidth === 0 || view.innerHeight === 0;

/** What is shown of an element: nothing, only what is inside it, or itself. */
export type Shown = "none" | "inside" | "all";

/** Returns what is shown of an element, by itself: what it is in is not looked at. */
export function shownPart(element: Element, style: CSSStyleDeclaration): Shown {
  const name = localNameOf(element);
  if (NEVER_SHOWN.has(name)) return "none";
  const { display, contentVisibility } = style;
  if (isHiddenByAttribute(element)) return "none";
  if (name === "area") return isPartOfPicture(element) ? "all" : "none";
  if (display === "none" || contentVisibility === "hidden") return "none";
  if (display === "contents") return "all";
  if (!isRendered(element)) return "none";
  if (isEmptyClip(element, style)) return "none";
  return style.visibility === "visible" ? "all" : "inside";
}

/** Whether nobody can reach an element: it is `inert`, or `aria-hidden`. */
export const isHiddenByAttribute = (element: Element): boolean =>
  hasAttribute(element, "inert") || attributeOf(element, "aria-hidden")?.toLowerCase() === "true";

/** Whether the picture of an area is shown, also to AI clients. */
function isPartOfPicture(area: Element): boolean {
  const picture = pictureOf(area);
  return !!picture && isShown(picture) && !isPrivate(picture);
}

/** Whether an element has an empty box that clips what is in it, such as the copies of options that antd keeps. */
function isEmptyClip(element: Element, style: CSSStyleDeclaration): boolean {
  const { overflowX, overflowY } = style;
  if (overflowX === "visible" && overflowY === "visible") return false;
  // An inline box clips nothing.
  if (style.display === "inline" || hasNoViewport(viewOf(element)) || is0Viewport(element)) return false;
  const { width, height } = boxOf(element);
  return (width === 0 && overflowX !== "visible") || (height === 0 && overflowY !== "visible");
}

/** Whether the root of the document has no size of its own to clip with. */
const is0Viewport = (element: Element): boolean => element === rootElementOf(documentOf(element)) || element === bodyOf(documentOf(element));

/** Whether an element is shown, and all that it is in. */
export function isShown(element: Element): boolean {
  const [itself, ...outer] = flatAncestors(element);
  if (!itself || shownPart(itself, getStyle(itself)) !== "all") return false;
  return outer.every((ancestor) => shownPart(ancestor, getStyle(ancestor)) !== "none");
}

export const getStyle = (element: Element): CSSStyleDeclaration => viewOf(element).getComputedStyle(element);

/** Returns the boxes of an element in its window, or of what is inside it if it has none of its own. */
export function boxesOf(element: Element): DOMRect[] {
  const hasSize = ({ width, height }: DOMRect) => width > 0 && height > 0;
  if (localNameOf(element) === "area") return [regionOf(element)].filter((region) => region !== undefined).filter(hasSize);
  const own = [...clientRectsOf(element)].filter(hasSize);
  if (own.length) return own;
  const range = invoke(documentOf(element), "createRange");
  range.selectNodeContents(shadowRootOf(element) ?? element);
  return [...range.getClientRects()].filter(hasSize);
}

/** Whether an element scrolls what is inside it. */
export function isScrollable(element: Element, style: CSSStyleDeclaration): boolean {
  const scrolls = (overflow: string) => overflow === "auto" || overflow === "scroll";
  return (
    (scrolls(style.overflowY) && read(element, "scrollHeight") > read(element, "clientHeight") + 1) ||
    (scrolls(style.overflowX) && read(element, "scrollWidth") > read(element, "clientWidth") + 1)
  );
}

/** Whether the app keeps an element from AI clients, or only the person uses it. */
export const isMarkedPrivate = (element: Element): boolean => hasAttribute(element, "data-mcp-private") || isPersonOnly(element);

/** Whether an element, or one that it is in, keeps its content from AI clients. */
export const isPrivate = (element: Element): boolean => !!flatClosest(element, isMarkedPrivate);

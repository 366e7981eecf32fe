/**
 * Determines whether an element is shown, and which part. This must be cheap, because it runs for every element of a page.
 */

import { invoke, read } from "../../dom/native.ts";
import { pictureOf, regionOf } from "./area.ts";
import { type View, flatAncestors, flatClosest, isPersonOnly, viewOf } from "./flat-tree.ts";
import { attributeOf, bodyOf, boxOf, clientRectsOf, documentOf, hasAttribute, isRendered, localNameOf, rootElementOf, shadowRootOf } from "./native.ts";

/** Elements whose content is never shown, whatever their style is. */
const NEVER_SHOWN = new Set(["script", "style", "noscript", "template", "head", "title", "desc", "defs", "metadata", "datalist", "symbol"]);

/** Returns whether the window has no size. In that case positions are unknown and nothing covers anything. */
export const hasNoViewport = (view: View): boolean => view.innerWidth === 0 || view.innerHeight === 0;

/** The shown part of an element: nothing, only its content, or the element itself. */
export type Shown = "none" | "inside" | "all";

/** Returns the shown part of an element, without checking its ancestors. */
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

/** Returns whether an element is inaccessible: it is `inert`, or `aria-hidden`. */
export const isHiddenByAttribute = (element: Element): boolean =>
  hasAttribute(element, "inert") || attributeOf(element, "aria-hidden")?.toLowerCase() === "true";

/** Returns whether the picture of an area is shown, also to AI clients. */
function isPartOfPicture(area: Element): boolean {
  const picture = pictureOf(area);
  return !!picture && isShown(picture) && !isPrivate(picture);
}

/** Returns whether an element has an empty box that clips its content, such as antd's copies of options. */
function isEmptyClip(element: Element, style: CSSStyleDeclaration): boolean {
  const { overflowX, overflowY } = style;
  if (overflowX === "visible" && overflowY === "visible") return false;
  // An inline box does not clip.
  if (style.display === "inline" || hasNoViewport(viewOf(element)) || is0Viewport(element)) return false;
  const { width, height } = boxOf(element);
  return (width === 0 && overflowX !== "visible") || (height === 0 && overflowY !== "visible");
}

/** Returns whether the root of the document has no size to clip with. */
const is0Viewport = (element: Element): boolean => element === rootElementOf(documentOf(element)) || element === bodyOf(documentOf(element));

/** Returns whether an element and all its ancestors are shown. */
export function isShown(element: Element): boolean {
  const [itself, ...outer] = flatAncestors(element);
  if (!itself || shownPart(itself, getStyle(itself)) !== "all") return false;
  return outer.every((ancestor) => shownPart(ancestor, getStyle(ancestor)) !== "none");
}

export const getStyle = (element: Element): CSSStyleDeclaration => viewOf(element).getComputedStyle(element);

/** Returns the boxes of an element in its window, or of its content if it has none itself. */
export function boxesOf(element: Element): DOMRect[] {
  const hasSize = ({ width, height }: DOMRect) => width > 0 && height > 0;
  if (localNameOf(element) === "area") return [regionOf(element)].filter((region) => region !== undefined).filter(hasSize);
  const own = [...clientRectsOf(element)].filter(hasSize);
  if (own.length) return own;
  const range = invoke(documentOf(element), "createRange");
  range.selectNodeContents(shadowRootOf(element) ?? element);
  return [...range.getClientRects()].filter(hasSize);
}

/** Returns whether an element scrolls its content. */
export function isScrollable(element: Element, style: CSSStyleDeclaration): boolean {
  const scrolls = (overflow: string) => overflow === "auto" || overflow === "scroll";
  return (
    (scrolls(style.overflowY) && read(element, "scrollHeight") > read(element, "clientHeight") + 1) ||
    (scrolls(style.overflowX) && read(element, "scrollWidth") > read(element, "clientWidth") + 1)
  );
}

/** Returns whether the app hides an element from AI clients, or reserves it for the person. */
export const isMarkedPrivate = (element: Element): boolean => hasAttribute(element, "data-mcp-private") || isPersonOnly(element);

/** Returns whether an element or an ancestor hides its content from AI clients. */
export const isPrivate = (element: Element): boolean => !!flatClosest(element, isMarkedPrivate);

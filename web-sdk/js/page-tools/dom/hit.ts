/** Finds the element at a position of the window, as a mouse would. */

import { invoke, read } from "../../dom/native.ts";
import { isControlRole, roleOf } from "./classify.ts";
import { flatAncestors, flatContains, is, isFrame, viewOf } from "./flat-tree.ts";
import { effectsOfClick } from "./default-actions.ts";
import { pictureOf } from "./area.ts";
import { isForbidden } from "./permission.ts";
import { boxOf, documentOf, localNameOf, parentElementOf, shadowRootOf } from "./native.ts";
import { boxesOf, getStyle, hasNoViewport, isHiddenByAttribute } from "./shown.ts";

/** A position in the window of an element. */
export interface Point {
  x: number;
  y: number;
}

/** Returns the innermost element at a position in the window of a document, including those inside shadow roots. */
export function hitElement(document: Document, x: number, y: number): Element | undefined {
  let hit = invoke(document, "elementFromPoint", x, y);
  for (;;) {
    const inner: Element | null | undefined = hit && shadowRootOf(hit)?.elementFromPoint(x, y);
    if (!inner || inner === hit) return hit ?? undefined;
    hit = inner;
  }
}

/** Returns the centre of an element: that of its first box, if it has several lines. */
export function centreOf(element: Element): Point {
  const { x, y, width, height } = boxesOf(element)[0] ?? boxOf(element);
  return { x: x + width / 2, y: y + height / 2 };
}

/**
 * Returns the element that a mouse uses for a control: itself, or, for an invisible field, the element drawn in its place:
 * a label that may be used, or the element around it.
 */
export function surfaceOf(element: Element): Element {
  if (hasNoViewport(viewOf(element)) || !is(element, "input", "select", "textarea")) return element;
  const { width, height } = element.getBoundingClientRect();
  const { clip, clipPath, opacity, pointerEvents } = getStyle(element);
  const isUnseen = width <= 1 || height <= 1 || /^rect\(/.test(clip) || clipPath !== "none" || pointerEvents === "none";
  const isHit = () => {
    const { x, y } = centreOf(element);
    return hitElement(documentOf(element), x, y) === element;
  };
  if (!isUnseen && (opacity !== "0" || isHit())) return element;
  const labels = [...((element as HTMLInputElement).labels ?? [])];
  const around = parentElementOf(element);
  return labels.find((label) => boxesOf(label).length && !isHiddenByAttribute(label) && !isForbidden({ element: label })) ?? (isUnseen && around && boxesOf(around).length ? around : element);
}

/** Returns whether an element is only for screen readers, such as a link that skips the navigation: its box is clipped. */
export function isOnlyHeard(element: Element): boolean {
  const { width, height } = boxOf(element);
  const { clip, clipPath, overflowX } = getStyle(element);
  return (overflowX !== "visible" && width <= 1 && height <= 1) || /^rect\(/.test(clip) || /^inset\((50|100)%/.test(clipPath);
}

/**
 * Returns the element that a mouse hits at the centre of an element: the innermost one, unless it is a separate control or
 * must not be used.
 */
export function hitInside(element: Element, { x, y }: Point): Element {
  if (hasNoViewport(viewOf(element))) return element;
  const hit = hitElement(documentOf(element), x, y);
  if (!hit || hit === element || !flatContains(element, hit) || effectsOfClick(hit).some(isForbidden)) return element;
  for (const around of flatAncestors(hit)) {
    if (around === element) return hit;
    if (isControlRole(roleOf(around))) return element;
  }
  return element;
}

/** Returns the element that covers the centre of another, in its own window and the windows around it. */
export function coverOf(element: Element): Element | "out-of-view" | undefined {
  const surface = surfaceOf(element);
  if (surface === element && isOnlyHeard(element)) return undefined;
  let { x, y } = centreOf(surface);
  for (let target = surface; ; ) {
    const view = viewOf(target);
    if (hasNoViewport(view)) return undefined;
    const hit = hitElement(documentOf(target), x, y);
    if (!hit) return "out-of-view";
    if (!flatContains(target, hit) && !isPartOf(target, hit)) return hit;
    const frame = view.frameElement;
    if (!frame || documentOf(target) === document) return undefined;
    ({ x, y } = outsideFrame(frame, x, y));
    target = frame;
  }
}

/** Returns whether the hit element acts for the target: the label of a control, or the picture of an area. */
function isPartOf(target: Element, hit: Element): boolean {
  for (let current: Element | null = hit; current; current = parentElementOf(current)) {
    if (is(current, "label") && current.control === target) return true;
  }
  // The centre of an area may be outside of it, and an element without a box is where its parent is.
  return (localNameOf(target) === "area" && pictureOf(target) === hit) || (getStyle(target).display === "contents" && flatContains(hit, target));
}

/** Converts a position inside a frame to one in the window around it. */
function outsideFrame(frame: Element, x: number, y: number): Point {
  const { left, top, width } = boxOf(frame);
  const { paddingLeft, paddingTop } = getStyle(frame);
  const scale = isFrame(frame) && frame.offsetWidth ? width / frame.offsetWidth : 1;
  return {
    x: left + (read(frame, "clientLeft") + Number.parseFloat(paddingLeft) + x) * scale,
    y: top + (read(frame, "clientTop") + Number.parseFloat(paddingTop) + y) * scale,
  };
}

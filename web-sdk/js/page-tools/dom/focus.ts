/** Moves the focus with its events: in a document without the focus, the browser moves it and fires none. */

import { invoke, read } from "../../dom/native.ts";
import { effectsOfFocus } from "./default-actions.ts";
import { dispatch } from "./dispatch.ts";
import { type View, deepActiveElement, flatClosest, viewOf } from "./flat-tree.ts";
import { isForbidden } from "./permission.ts";
import { hasAttribute, isConnected, isRendered, localNameOf, matches } from "./native.ts";
import type { Patches } from "./patch.ts";
import { forgetTyped } from "./typed-text.ts";

/** Gives an element the focus. */
export function focusElement(element: Element): void {
  move(element, () => invoke(element as HTMLElement, "focus", { preventScroll: true }));
}

/** Removes the focus from the focused element. */
export function blurActive(): void {
  const active = deepActiveElement();
  if (active && localNameOf(active) !== "body") move(undefined, () => invoke(active as HTMLElement, "blur"));
}

/** Moves the focus as a mouse press does: to the element, to an ancestor, or away. */
export function focusAtPress(element: Element): void {
  const target = flatClosest(element, (one) => isFocusable(one) && !effectsOfFocus(one).some(isForbidden));
  if (target) focusElement(target);
  else blurActive();
}

/** Returns whether an element can have the focus. */
export function isFocusable(element: Element): boolean {
  if (matches(element, ":disabled") || !isRendered(element)) return false;
  if (read(element as HTMLElement, "tabIndex") >= 0 || hasAttribute(element, "tabindex")) return true;
  return read(element as HTMLElement, "isContentEditable") && hasAttribute(element, "contenteditable");
}

/**
 * Also fires the events when the page itself moves the focus in a document without the focus: components open their lists
 * and move in their menus on these events.
 */
export function fireFocusEvents(view: View, patches: Patches): void {
  if (invoke(view.document, "hasFocus")) return;
  const { prototype } = view.HTMLElement;
  patches.replace(prototype, "focus", (original) => function (this: HTMLElement, ...args) {
    move(this, () => Reflect.apply(original, this, args));
  });
  patches.replace(prototype, "blur", (original) => function (this: HTMLElement) {
    move(undefined, () => Reflect.apply(original, this, []));
  });
}

function move(next: Element | undefined, run: () => void): void {
  const previous = deepActiveElement();
  if (previous === next) return;
  forgetTyped();
  const views = new Set([previous, next].flatMap((element) => (element ? [viewOf(element)] : [])));
  let hasFired = false;
  const note = () => (hasFired = true);
  for (const view of views) for (const type of ["focus", "blur"]) view.addEventListener(type, note, true);
  try {
    run();
  } finally {
    for (const view of views) for (const type of ["focus", "blur"]) view.removeEventListener(type, note, true);
  }
  const active = deepActiveElement();
  if (hasFired || active === previous) return;
  if (previous && isConnected(previous) && localNameOf(previous) !== "body") fire(previous, ["blur", "focusout"], next);
  if (next && active === next) fire(next, ["focus", "focusin"], previous);
}

function fire(element: Element, types: string[], related: Element | undefined): void {
  const relatedTarget = related && localNameOf(related) !== "body" ? related : null;
  for (const type of types) dispatch(element, type, { relatedTarget });
}

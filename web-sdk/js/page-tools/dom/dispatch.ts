/** Dispatches events with the constructors of the element's window, and with the fields that the browser would set. */

import { invoke } from "../../dom/native.ts";
import { effectsOfClick, changed } from "./default-actions.ts";
import { type View, is, isElement, viewOf } from "./flat-tree.ts";
import { refuseForbidden } from "./permission.ts";
import { nodeTypeOf, windowOf } from "./native.ts";
import { isPrivate } from "./shown.ts";

/** The pointer id of the mouse in browsers. */
export const POINTER_ID = 1;

type Init = Record<string, unknown>;

/** The browser's constructors of events, by the prefixes of their names. */
const CONSTRUCTORS: [RegExp, keyof View][] = [
  [/^(pointer|gotpointer|lostpointer|click$|auxclick$|contextmenu$)/, "PointerEvent"],
  [/^(mouse|dblclick$)/, "MouseEvent"],
  [/^(drag|drop$)/, "DragEvent"],
  [/^key/, "KeyboardEvent"],
  [/^(beforeinput|input)$/, "InputEvent"],
  [/^(focus|blur)/, "FocusEvent"],
  [/^wheel$/, "WheelEvent"],
  [/^animation/, "AnimationEvent"],
  [/^transition/, "TransitionEvent"],
];

/** Events that do not bubble. */
const LOCAL = /^(mouseenter|mouseleave|pointerenter|pointerleave|focus|blur|scroll|load|error|toggle|invalid|cancel|close)$/;

/** Events that cannot be cancelled. */
const FINAL = /^(input|change|focus|blur|focusin|focusout|pointerenter|pointerleave|mouseenter|mouseleave|scroll|dragend|dragleave|animationend|transitionend)$/;

/** Events for movements or ends only. They may also reach elements that must not be used, or are left out there. */
const ENDINGS = /^(animation|transition|scroll)/;
const MOVES = /^((pointer|mouse)(over|out|enter|leave|move)|focus|blur|focusin|focusout|drag(enter|leave|over)|dragend)$/;

/**
 * Dispatches an event. Returns whether it was not cancelled.
 *
 * @throws ActionError if it would affect an element that must not be used: the page may have changed since the action
 * began.
 */
export function dispatch(target: Element | Document, type: string, init: Init = {}): boolean {
  if (isElement(target) && !ENDINGS.test(type)) {
    if (MOVES.test(type)) {
      if (isPrivate(target)) return true;
    } else if (!is(target, "body") || isPrivate(target)) refuseForbidden(type === "click" ? effectsOfClick(target) : changed(target));
  }
  const view = nodeTypeOf(target) === Node.DOCUMENT_NODE ? (windowOf(target as Document) as View) : viewOf(target);
  const name = CONSTRUCTORS.find(([pattern]) => pattern.test(type))?.[1] ?? "Event";
  const Constructor = view[name] as typeof Event;
  const all = { bubbles: !LOCAL.test(type), cancelable: !FINAL.test(type), composed: !/^(change|submit|reset)$/.test(type), view, ...init };
  return invoke(target, "dispatchEvent", new Constructor(type, all));
}

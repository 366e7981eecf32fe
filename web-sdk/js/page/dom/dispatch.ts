/** Events with the constructors of the window that an element is in, and with the fields that the browser would set. */

import { type View, viewOf } from "./flat-tree.ts";

/** The mouse is the pointer with this id in browsers. */
export const POINTER_ID = 1;

type Init = Record<string, unknown>;

/** Events by what their name begins with, and the constructor that the browser uses. */
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

/** Dispatches an event. Returns whether it was not cancelled. */
export function dispatch(target: Element | Document, type: string, init: Init = {}): boolean {
  const view = target.nodeType === Node.DOCUMENT_NODE ? ((target as Document).defaultView as View) : viewOf(target);
  const name = CONSTRUCTORS.find(([pattern]) => pattern.test(type))?.[1] ?? "Event";
  const Constructor = view[name] as typeof Event;
  const all = { bubbles: !LOCAL.test(type), cancelable: !FINAL.test(type), composed: !/^(change|submit|reset)$/.test(type), view, ...init };
  return target.dispatchEvent(new Constructor(type, all));
}

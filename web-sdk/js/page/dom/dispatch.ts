/** Events with the constructors of the window that an element is in, and with the fields that the browser would set. */

import { invoke } from "../../dom/native.ts";
import { ActionError } from "../driver.ts";
import { type View, isElement, viewOf } from "./flat-tree.ts";
import { reachesPerson } from "./for-person.ts";
import { nodeTypeOf, windowOf } from "./native.ts";

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

/** Events of what only moves or ends: they may come to what only the person uses, or are left out there. */
const ENDINGS = /^(animation|transition|scroll)/;
const MOVES = /^((pointer|mouse)(over|out|enter|leave|move)|focus|blur|focusin|focusout|drag(enter|leave|over)|dragend)$/;

/**
 * Dispatches an event. Returns whether it was not cancelled.
 *
 * @throws ActionError if it would use what only the person uses: the page may have made it so since the action began.
 */
export function dispatch(target: Element | Document, type: string, init: Init = {}): boolean {
  if (isElement(target) && !ENDINGS.test(type) && reachesPerson(target)) {
    if (MOVES.test(type)) return true;
    throw personOnly();
  }
  const view = nodeTypeOf(target) === Node.DOCUMENT_NODE ? (windowOf(target as Document) as View) : viewOf(target);
  const name = CONSTRUCTORS.find(([pattern]) => pattern.test(type))?.[1] ?? "Event";
  const Constructor = view[name] as typeof Event;
  const all = { bubbles: !LOCAL.test(type), cancelable: !FINAL.test(type), composed: !/^(change|submit|reset)$/.test(type), view, ...init };
  return invoke(target, "dispatchEvent", new Constructor(type, all));
}

/** Makes the error of an action that would use what only the person uses. */
export const personOnly = (): ActionError => new ActionError("TargetPrivate", "this is private by now: ask the user to do it in the page");

/** The mouse: its position, and the events of its moves. */

import { POINTER_ID, dispatch } from "./dispatch.ts";
import { flatAncestors, isInPage, viewOf } from "./flat-tree.ts";
import type { Point } from "./hit.ts";

/** The state of the buttons. */
export interface Buttons {
  button: number;
  buttons: number;
  detail?: number;
}

export const RELEASED: Buttons = { button: -1, buttons: 0 };
export const PRESSED: Buttons = { button: 0, buttons: 1 };

/** The fields of a mouse event at a position. */
export function mouseFields(element: Element, { x, y }: Point, { button, buttons, detail = 0 }: Buttons): Record<string, unknown> {
  const { screenX, screenY } = viewOf(element);
  return { clientX: x, clientY: y, screenX: screenX + x, screenY: screenY + y, button: Math.max(button, 0), buttons, detail };
}

/** The fields of a pointer event at a position. */
export function pointerFields(element: Element, point: Point, state: Buttons): Record<string, unknown> {
  const pressure = state.buttons ? 0.5 : 0;
  return { ...mouseFields(element, point, state), button: state.button, pointerId: POINTER_ID, pointerType: "mouse", isPrimary: true, width: 1, height: 1, pressure };
}

/** The pointer of a page. It is over one element, and leaves it when it is moved to another. */
export class Pointer {
  #over: WeakRef<Element> | undefined;

  /** Moves to a position in an element. */
  moveTo(element: Element, point: Point, state: Buttons = RELEASED): void {
    this.#enter(element, point, state);
    dispatch(element, "pointermove", pointerFields(element, point, state));
    dispatch(element, "mousemove", mouseFields(element, point, state));
  }

  #enter(element: Element, point: Point, state: Buttons): void {
    const known = this.#over?.deref();
    const previous = known && isInPage(known) ? known : undefined;
    if (previous === element) return;
    this.#over = new WeakRef(element);
    const entered = [...flatAncestors(element)];
    const left = [...flatAncestors(previous)];
    const both = (target: Element, suffix: string, relatedTarget: Element | undefined) => {
      const related = { relatedTarget: relatedTarget ?? null };
      dispatch(target, `pointer${suffix}`, { ...pointerFields(target, point, state), detail: 0, ...related });
      dispatch(target, `mouse${suffix}`, { ...mouseFields(target, point, state), detail: 0, ...related });
    };
    if (previous) {
      both(previous, "out", element);
      for (const one of left) if (!entered.includes(one)) both(one, "leave", element);
    }
    both(element, "over", previous);
    for (const one of entered.reverse()) if (!left.includes(one)) both(one, "enter", previous);
  }
}

/** A click, as a mouse does it. Components open on the press, on the release or on the click, so all of them are dispatched. */

import { ActionError } from "../driver.ts";
import { dispatch } from "./dispatch.ts";
import { is, isInPage } from "./flat-tree.ts";
import { focusAtPress } from "./focus.ts";
import { centreOf, surfaceOf } from "./hit.ts";
import { PRESSED, type Pointer, mouseFields, pointerFields } from "./pointer.ts";

/** Clicks an element at its centre. */
export function click(element: Element, pointer: Pointer, detail = 1): void {
  if (is(element, "input") && element.type === "file") {
    const advice = 'use setValue with {"name": "a.txt", "mimeType": "text/plain", "text": "…"}';
    throw new ActionError("ActionUnsupported", `the browser opens its list of files only for a person: ${advice}`);
  }
  const surface = surfaceOf(element);
  const point = centreOf(surface);
  pointer.moveTo(surface, point);
  const isTaken = press(surface, detail);
  if (!isInPage(surface)) return;
  release(surface, { detail, isTaken });
  if (!isInPage(surface)) return;
  dispatch(surface, "click", { ...pointerFields(surface, point, { button: 0, buttons: 0, detail }), pressure: 0 });
}

/** Clicks an element twice. */
export function doubleClick(element: Element, pointer: Pointer): void {
  click(element, pointer, 1);
  if (isInPage(element)) click(element, pointer, 2);
  const surface = surfaceOf(element);
  if (isInPage(surface)) dispatch(surface, "dblclick", mouseFields(surface, centreOf(surface), { button: 0, buttons: 0, detail: 2 }));
}

/** Opens the context menu of an element, if its page has one. */
export function openContextMenu(element: Element, pointer: Pointer): void {
  const surface = surfaceOf(element);
  const point = centreOf(surface);
  const held = { button: 2, buttons: 2, detail: 1 };
  pointer.moveTo(surface, point);
  if (dispatch(surface, "pointerdown", { ...pointerFields(surface, point, held), detail: 0 })) {
    if (dispatch(surface, "mousedown", mouseFields(surface, point, held))) focusAtPress(surface);
  }
  dispatch(surface, "contextmenu", pointerFields(surface, point, { ...held, detail: 0 }));
  release(surface, { detail: 1, button: 2 });
}

/** Presses the button of the mouse over an element. Returns whether the page takes the press for one of the pointer only. */
export function press(element: Element, detail = 1): boolean {
  const point = centreOf(element);
  const held = { ...PRESSED, detail };
  const isTaken = !dispatch(element, "pointerdown", { ...pointerFields(element, point, held), detail: 0 });
  // As in the browser, a press that was cancelled is followed by no events of the mouse.
  if (isTaken || !isInPage(element)) return isTaken;
  if (dispatch(element, "mousedown", mouseFields(element, point, held)) && isInPage(element)) focusAtPress(element);
  return false;
}

/** Releases the button of the mouse over an element. */
export function release(element: Element, { detail = 1, button = 0, isTaken = false }): void {
  const point = centreOf(element);
  const state = { button, buttons: 0, detail };
  dispatch(element, "pointerup", { ...pointerFields(element, point, state), detail: 0 });
  if (!isTaken && isInPage(element)) dispatch(element, "mouseup", mouseFields(element, point, state));
}

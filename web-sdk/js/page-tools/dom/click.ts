/**
 * Clicks like a mouse. Components open on the press, on the release or on the click, so all of these events are dispatched.
 */

import { ActionError } from "../driver.ts";
import { dispatch } from "./dispatch.ts";
import { is, isInPage } from "./flat-tree.ts";
import { focusAtPress } from "./focus.ts";
import { centreOf, hitInside, surfaceOf } from "./hit.ts";
import { PRESSED, type Pointer, mouseFields, pointerFields } from "./pointer.ts";

/** Clicks an element at its centre. Returns whether it still existed for the click, after the press. */
export function click(element: Element, pointer: Pointer, detail = 1): boolean {
  if (is(element, "input") && element.type === "file") {
    const advice = 'use setValue with {"name": "a.txt", "mimeType": "text/plain", "text": "…"}';
    throw new ActionError("ActionUnsupported", `the browser opens its list of files only for a person: ${advice}`);
  }
  const surface = surfaceOf(element);
  const point = centreOf(surface);
  const hit = hitInside(surface, point);
  // The press may render the clicked element again.
  const target = () => (isInPage(hit) ? hit : surface);
  pointer.moveTo(hit, point);
  const isTaken = press(hit, detail, point);
  if (!isInPage(surface)) return false;
  release(target(), { detail, isTaken, point });
  if (!isInPage(surface)) return false;
  dispatch(target(), "click", { ...pointerFields(target(), point, { button: 0, buttons: 0, detail }), pressure: 0 });
  return true;
}

/** Clicks an element twice. Returns whether it still existed for the second click. */
export function doubleClick(element: Element, pointer: Pointer): boolean {
  if (!click(element, pointer, 1) || !isInPage(element) || !click(element, pointer, 2)) return false;
  const surface = surfaceOf(element);
  if (!isInPage(surface)) return false;
  const point = centreOf(surface);
  dispatch(hitInside(surface, point), "dblclick", mouseFields(surface, point, { button: 0, buttons: 0, detail: 2 }));
  return true;
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

/** Presses the mouse button over an element. Returns whether the page treats the press as one of the pointer only. */
export function press(element: Element, detail = 1, point = centreOf(element)): boolean {
  const held = { ...PRESSED, detail };
  const isTaken = !dispatch(element, "pointerdown", { ...pointerFields(element, point, held), detail: 0 });
  // As in the browser, a cancelled press is not followed by mouse events.
  if (isTaken || !isInPage(element)) return isTaken;
  if (dispatch(element, "mousedown", mouseFields(element, point, held)) && isInPage(element)) focusAtPress(element);
  return false;
}

/** Releases the mouse button over an element. */
export function release(element: Element, { detail = 1, button = 0, isTaken = false, point = centreOf(element) }): void {
  const state = { button, buttons: 0, detail };
  dispatch(element, "pointerup", { ...pointerFields(element, point, state), detail: 0 });
  if (!isTaken && isInPage(element)) dispatch(element, "mouseup", mouseFields(element, point, state));
}

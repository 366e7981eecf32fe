/** Events that an action triggers on an element. */

import { ActionError } from "../driver.ts";
import { click, doubleClick, openContextMenu } from "./click.ts";
import { dispatch } from "./dispatch.ts";
import { deepActiveElement } from "./flat-tree.ts";
import { blurActive, focusElement } from "./focus.ts";
import { centreOf } from "./hit.ts";
import { type Pointer, mouseFields, pointerFields } from "./pointer.ts";
import { submitForm } from "./submit.ts";

/** Events that the browser begins with more than one event. */
const SEQUENCES: Record<string, (element: Element, pointer: Pointer) => unknown> = {
  click,
  dblclick: doubleClick,
  contextmenu: openContextMenu,
  focus: focusElement,
  blur,
  submit: submitForm,
};

/** Names that are not those of the DOM in small letters. */
const ALIASES: Record<string, string> = { doubleclick: "dblclick" };

/** Triggers an event: `onClick`, or the name of an event of the DOM. */
export function triggerEvent(element: Element, event: string, pointer: Pointer, warn: (text: string) => void): void {
  const type = domNameOf(event);
  const sequence = SEQUENCES[type];
  if (sequence) {
    const wasDone = sequence(element, pointer) !== false;
    if (!wasDone) warn("the page removed or replaced the element when it was pressed, before it was clicked: look whether that was all");
    return;
  }
  const point = centreOf(element);
  const state = { button: 0, buttons: /down$/.test(type) ? 1 : 0, detail: 0 };
  if (/^pointer/.test(type)) dispatch(element, type, pointerFields(element, point, state));
  else if (/^(mouse|drag|drop|wheel)/.test(type)) dispatch(element, type, mouseFields(element, point, state));
  else dispatch(element, type);
}

function domNameOf(event: string): string {
  const handler = /^on([A-Z][A-Za-z]*)$/.exec(event)?.[1]?.toLowerCase();
  if (handler) return ALIASES[handler] ?? handler;
  if (/^[A-Za-z][\w.:-]{0,99}$/.test(event)) return event;
  throw new ActionError("EventUnknown", `${JSON.stringify(event)} is no event: use onClick, onDoubleClick, onContextMenu, onFocus, onBlur, onChange, onSubmit, or the name of a DOM event`);
}

function blur(element: Element): void {
  if (deepActiveElement() === element) blurActive();
  else for (const type of ["blur", "focusout"]) dispatch(element, type);
}

/** Events that an action triggers on an element. */

import { ActionError } from "../driver.ts";
import { click, doubleClick, openContextMenu } from "./click.ts";
import { dispatch } from "./dispatch.ts";
import { deepActiveElement, viewOf } from "./flat-tree.ts";
import { blurActive, focusElement } from "./focus.ts";
import { centreOf } from "./hit.ts";
import { type Pointer, mouseFields, pointerFields } from "./pointer.ts";
import { submitForm } from "./submit.ts";

/** Events for which the browser fires a sequence of events. */
const SEQUENCES: Record<string, (element: Element, pointer: Pointer) => unknown> = {
  click,
  dblclick: doubleClick,
  contextmenu: openContextMenu,
  focus: focusElement,
  blur,
  submit: submitForm,
};

/** Events of the DOM for which elements have no handler property. */
const WITHOUT_HANDLER = /^(focus(in|out)|(composition|touch)(start|update|move|end|cancel))$/;

/** Triggers an event: `onClick`, or the name of an event of the DOM. */
export function triggerEvent(element: Element, event: string, pointer: Pointer, warn: (text: string) => void): void {
  const type = domNameOf(event, element);
  if (Object.hasOwn(SEQUENCES, type)) {
    const wasDone = SEQUENCES[type]!(element, pointer) !== false;
    if (!wasDone) warn("the page removed or replaced the element when it was pressed, before it was clicked: look whether that was all");
    return;
  }
  const point = centreOf(element);
  const state = { button: 0, buttons: /down$/.test(type) ? 1 : 0, detail: 0 };
  if (/^pointer/.test(type)) dispatch(element, type, pointerFields(element, point, state));
  else if (/^(mouse|drag|drop|wheel)/.test(type)) dispatch(element, type, mouseFields(element, point, state));
  else dispatch(element, type);
}

/**
 * Returns the DOM event of a name, such as `click` for `onClick`, `onclick` and `Click`; any other name is one of the
 * page's own.
 */
function domNameOf(event: string, element: Element): string {
  if (!/^[A-Za-z][\w.:-]{0,99}$/.test(event)) {
    throw new ActionError("EventUnknown", `${JSON.stringify(event)} is not an event: use onClick, onDoubleClick, onContextMenu, onFocus, onBlur, onChange, onSubmit, or the name of a DOM event`);
  }
  const { prototype } = viewOf(element).HTMLElement;
  const isKnown = (type: string) => `on${type}` in prototype || WITHOUT_HANDLER.test(type);
  const names = [event, event.replace(/^on/i, "")].map((name) => name.toLowerCase().replace(/^doubleclick$/, "dblclick"));
  return names.find(isKnown) ?? (/^on[A-Z]/.test(event) ? names[1]! : event);
}

function blur(element: Element): void {
  if (deepActiveElement() === element) blurActive();
  else for (const type of ["blur", "focusout"]) dispatch(element, type);
}

/** What an action activates besides its target, as the browser does it: a button by Enter, a control by its label. */

import type { Action } from "../actions.ts";
import { flatContains, is } from "./flat-tree.ts";
import { isSubmitButton, reachesPerson } from "./for-person.ts";
import { elementsOf, parentElementOf } from "./native.ts";
import { isPrivate } from "./shown.ts";

/** Returns what an action on an element activates, if that is another element. */
export function activatedBy(action: Action, element: Element): Element | undefined {
  if (action.type === "pressKey" && /^(.+\+)?(Enter|Return)$/i.test(action.key)) return submitButtonOf(element);
  if (action.type === "triggerEvent" && /^(on)?(dbl|double)?click$/i.test(action.event)) return controlOfLabel(element);
  return undefined;
}

/** Whether AI clients may use an element: it is in the root, nothing around it is private, and it uses nothing that is. */
export const isUsable = (element: Element, root: Element): boolean => flatContains(root, element) && !isPrivate(element) && !reachesPerson(element);

/** Returns the button that Enter in a field of one line presses. */
export function submitButtonOf(field: Element): HTMLButtonElement | HTMLInputElement | undefined {
  if (!is(field, "input") || /^(button|submit|reset|image|file)$/.test(field.type)) return undefined;
  return [...(field.form ? elementsOf(field.form) : [])].find(isSubmitButton);
}

function controlOfLabel(element: Element): Element | undefined {
  for (let current: Element | null = element; current; current = parentElementOf(current)) {
    if (is(current, "label")) return current.control === element ? undefined : (current.control ?? undefined);
  }
  return undefined;
}

/** Submits a form, or reports why it cannot be submitted. */

import { read } from "../../dom/native.ts";
import { ActionError } from "../driver.ts";
import { effectsOfClick, effectsOfSubmit, submitButtonOf } from "./default-actions.ts";
import { dispatch } from "./dispatch.ts";
import { is, viewOf } from "./flat-tree.ts";
import { refuseForbidden } from "./permission.ts";
import { closest, elementsOf, hasAttribute } from "./native.ts";

/** Performs the effect of Enter in a field: a click on the form's button, or a submission if it has none. */
export function submit(field: HTMLInputElement): void {
  if (field.type !== "checkbox" && field.type !== "radio") dispatch(field, "change");
  const { form } = field;
  if (!form) return;
  const button = submitButtonOf(field);
  if (button) {
    if (button.disabled) return;
    refuseForbidden(effectsOfClick(button));
    button.click();
  } else if ([...elementsOf(form)].filter((one) => is(one, "input") && one.type !== "hidden" && one.type !== "checkbox").length <= 1) requestSubmit(form);
}

/** Returns the form that an element is, belongs to or is inside. */
export const formOf = (element: Element): HTMLFormElement | null =>
  is(element, "form") ? element : (read(element as HTMLInputElement, "form") ?? (closest(element, "form") as HTMLFormElement | null));

/** Submits the form of an element. @throws ActionError if there is none, or one of its fields is invalid. */
export function submitForm(element: Element): void {
  const form = formOf(element);
  if (!form) throw new ActionError("EventUnknown", "this element is in no form: use triggerEvent onClick on the button that sends");
  requestSubmit(form);
}

/** Calls the method of the prototype, because a field with the name `requestSubmit` would hide it. */
export function requestSubmit(form: HTMLFormElement): void {
  refuseForbidden(effectsOfSubmit(form));
  const { prototype } = viewOf(form).HTMLFormElement;
  prototype.requestSubmit.call(form);
  if (hasAttribute(form, "novalidate") || prototype.checkValidity.call(form)) return;
  // The recorder has the browser's messages, without those of fields that are private or outside of the root.
  throw new ActionError("ActionFailed", "the form was not sent, a field is not valid: set it and submit again");
}

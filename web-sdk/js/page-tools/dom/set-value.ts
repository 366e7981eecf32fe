/** Sets the value of a control like a person: with the events that components listen to. */

import { nextTask } from "../../mcp-web/next-task.ts";
import { ActionError } from "../driver.ts";
import { isTextInput, roleOf } from "./classify.ts";
import { click } from "./click.ts";
import { dispatch } from "./dispatch.ts";
import { isEditor } from "./default-actions.ts";
import { setEditableText } from "./editable.ts";
import { fieldOf, isChecked } from "./field.ts";
import { setFiles } from "./files.ts";
import { type View, is, isInPage, viewOf } from "./flat-tree.ts";
import { focusElement } from "./focus.ts";
import { refuseForbidden } from "./permission.ts";
import { attributeOf, matches } from "./native.ts";
import type { Pointer } from "./pointer.ts";
import { labelOfOption, publicOptions } from "./select-options.ts";
import { currentField, noteField } from "./successor.ts";
import { checkFormat } from "./value-format.ts";

/** Maximum number of options listed in a message. */
const MAX_NAMED_OPTIONS = 20;

/** Sets the value of an element. */
export async function setValue(element: Element, value: unknown, pointer: Pointer): Promise<void> {
  const given = fieldOf(element);
  if (!given) throw new ActionError("NotEditable", "this element takes no value: use triggerEvent onClick");
  noteField(element, given);
  if (isChecked(given)) return setChecked(given, value, pointer);
  if (is(given, "input") && given.type !== "file") checkFormat(given, textOf(value));
  focusElement(given);
  // The page handles the focus before the typed text, as for a person.
  await nextTask();
  const field = isInPage(given) ? given : currentField(element);
  if (!field) throw new ActionError("TargetStale", "the page removed the field when it got the focus, before its value was set: take a page_snapshot");
  if (field !== given) noteField(element, field);
  refuseForbidden([{ element: field, isWhole: isEditor(field) }]);
  if (is(field, "select")) return selectOptions(field, value);
  if (is(field, "input") && field.type === "file") return setFiles(field, value);
  const text = textOf(value);
  if (is(field, "input", "textarea")) return setText(field, text);
  return setEditableText(field as HTMLElement, text);
}

/** Returns the text to type for a value. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") throw new ActionError("ValueRefused", "this field takes a text or a number: give one as value");
  return String(value);
}

/** Sets the value of a text field with the setter of its prototype, because React puts its own setter on the element. */
export function setText(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  const { maxLength } = field;
  if (maxLength >= 0 && text.length > maxLength) {
    throw new ActionError("ValueRefused", `this field takes ${maxLength} characters at most, the value has ${text.length}: shorten it`);
  }
  const isTyped = is(field, "textarea") || isTextInput(field);
  if (isTyped && !dispatch(field, "beforeinput", { data: text, inputType: "insertText" })) return;
  setNativeValue(field, text);
  dispatch(field, "input", isTyped ? { data: text, inputType: "insertText" } : {});
  dispatch(field, "change");
}

/** Sets the property `value`, bypassing the page's own property on the element. */
export function setNativeValue(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  const view = viewOf(field);
  const { prototype } = is(field, "textarea") ? view.HTMLTextAreaElement : view.HTMLInputElement;
  Object.getOwnPropertyDescriptor(prototype, "value")!.set!.call(field, text);
}

function setChecked(field: Element, value: unknown, pointer: Pointer): void {
  const wanted = value === "true" || value === "on" ? true : value === "false" || value === "off" ? false : value;
  if (typeof wanted !== "boolean") throw new ActionError("ValueRefused", "this control is checked or not: give true or false as value");
  if (isOn(field) === wanted) return;
  if (!wanted && /radio$/.test(roleOf(field))) throw new ActionError("ValueRefused", "a radio button is unset by setting another one of its group");
  click(field, pointer);
}

/** Returns whether a control is checked. */
export function isOn(field: Element): boolean {
  return is(field, "input") ? field.checked && !field.indeterminate : attributeOf(field, "aria-checked") === "true";
}

function selectOptions(field: HTMLSelectElement, value: unknown): void {
  const wanted = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
  if (!field.multiple && wanted.length > 1) throw new ActionError("ValueRefused", "this field takes one option: give one value");
  const options = wanted.length || field.multiple ? wanted.map((one) => findOption(field, String(one))) : [findOption(field, "")];
  const { prototype } = (viewOf(field) as View).HTMLOptionElement;
  const setSelected = Object.getOwnPropertyDescriptor(prototype, "selected")!.set!;
  for (const option of field.options) if (field.multiple || options.includes(option)) setSelected.call(option, options.includes(option));
  dispatch(field, "input");
  dispatch(field, "change");
}

/** Returns the option with a value or a label; a label may differ in case and surrounding spaces. */
export function findOption(field: HTMLSelectElement, wanted: string): HTMLOptionElement {
  const options = publicOptions(field.options);
  const fold = (text: string) => text.trim().toLowerCase();
  const found =
    options.find((option) => option.value === wanted) ??
    options.find((option) => labelOfOption(option) === wanted) ??
    options.find((option) => fold(labelOfOption(option)) === fold(wanted));
  const isUsable = (option: HTMLOptionElement) => !option.matches(":disabled") && !(option.parentElement && matches(option.parentElement, "optgroup:disabled"));
  if (found && isUsable(found)) return found;
  const usable = options.filter(isUsable);
  const labels = usable.slice(0, MAX_NAMED_OPTIONS).map((option) => JSON.stringify(labelOfOption(option)));
  const list = `${labels.join(", ")}${usable.length > MAX_NAMED_OPTIONS ? `, … (of ${usable.length})` : ""}`;
  throw new ActionError("OptionNotFound", `${JSON.stringify(wanted)} is ${found ? "disabled" : "not an option"}: choose one of ${list}`);
}

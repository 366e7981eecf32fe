/**
 * The formats of the values of fields. If a value does not have the format, the browser empties the field without an event.
 */

import { invoke } from "../../dom/native.ts";
import { ActionError } from "../driver.ts";

const NUMBER = "a number such as 1234.5";

/** The values that a field accepts, by its type. */
const FORMATS: Record<string, string> = {
  number: NUMBER,
  range: NUMBER,
  date: "a date as YYYY-MM-DD, such as 2026-11-27",
  time: "a time as HH:MM, such as 14:30",
  "datetime-local": "a date and time as YYYY-MM-DDTHH:MM, such as 2026-11-27T14:30",
  month: "a month as YYYY-MM, such as 2026-11",
  week: "a week as YYYY-Www, such as 2026-W48",
  color: "a colour as #rrggbb, such as #ff8800",
};

/** Returns a value in the form that the browser writes in a field; empty if it does not have the format of the field. */
export function sanitize({ ownerDocument, type, multiple }: HTMLInputElement, text: string): string {
  const input = invoke(ownerDocument, "createElement", "input") as HTMLInputElement;
  // A range has its own limits, and always has a value.
  input.type = type === "range" ? "number" : type;
  input.multiple = multiple;
  input.value = text;
  // The browser replaces an invalid colour by black.
  return type === "color" && input.value === "#000000" && text !== "#000000" ? "" : input.value;
}

/** Refuses a value that does not have the format of its field. */
export function checkFormat(field: HTMLInputElement, text: string): void {
  const { type } = field;
  const format = FORMATS[type];
  // A range and a colour always have a value.
  if (!format || sanitize(field, text) || (!text && !/^[rc]/.test(type))) return;
  throw new ActionError("ValueRefused", `this field takes ${format}`);
}

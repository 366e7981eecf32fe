/** The state of a page: what the app says it is, or the values of its fields. */

import { flatElements, is } from "./flat-tree.ts";
import { isEditable } from "./node.ts";
import { isPrivate } from "./shown.ts";
import { valueOf } from "./value.ts";
import { roleOf } from "./classify.ts";
import { isChecked } from "./field.ts";
import { isOn } from "./set-value.ts";

/** What a state may have as JSON. */
export const MAX_STATE_BYTES = 256 * 1024;

export const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value) ?? "null").length;

/** Returns the values of the fields in a page by their names: those of a form with a name are an object with that name. */
export function formValues(root: Element, maxValueBytes: number): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const element of flatElements(root)) {
    if ((!isEditable(element) && !isChecked(element)) || isPrivate(element) || (is(element, "input") && element.type === "hidden")) continue;
    const field = element as HTMLInputElement;
    const name = field.getAttribute("name") || field.id || element.getAttribute("data-testid") || element.getAttribute("aria-label");
    const value = stateOf(field, maxValueBytes);
    if (!name || value === undefined) continue;
    const form = field.form?.getAttribute("name") || field.form?.id;
    const group = form ? objectIn(values, form) : values;
    // A page may have a field with the name `__proto__`.
    Object.defineProperty(group, name, { value: joined(group, name, value, field), enumerable: true, configurable: true, writable: true });
  }
  return values;
}

/** Leaves out what is more than a state may have. Returns what is left, and whether anything is missing. */
export function fitState(value: unknown, maxBytes = MAX_STATE_BYTES): { value: unknown; truncated: boolean } {
  if (value === null || value === undefined || bytesOf(value) <= maxBytes) return { value: value ?? null, truncated: false };
  if (typeof value !== "object" || value === null) return { value: null, truncated: true };
  const kept = new Map<string, unknown>();
  let left = maxBytes - 2;
  for (const [key, inner] of Object.entries(value)) {
    const size = bytesOf(inner) + bytesOf(key) + 2;
    if (size > left) continue;
    kept.set(key, inner);
    left -= size;
  }
  return { value: Array.isArray(value) ? [...kept.values()] : Object.fromEntries(kept), truncated: true };
}

function stateOf(field: HTMLInputElement, maxBytes: number): unknown {
  if (isChecked(field)) return field.type === "radio" || roleOf(field) === "radio" ? (isOn(field) ? field.value || true : undefined) : isOn(field);
  const value = is(field, "select") ? selectedValues(field as unknown as HTMLSelectElement) : valueOf(field, roleOf(field));
  return typeof value === "string" ? cutBytes(value, maxBytes) : value;
}

const selectedValues = (field: HTMLSelectElement): string | string[] =>
  field.multiple ? [...field.selectedOptions].map(({ value }) => value) : field.value;

/** Cuts a text to a number of bytes of UTF-8, and says how long it was. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const buffer = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, buffer);
  return read === text.length ? text : `${text.slice(0, read)}… (of ${text.length.toLocaleString("en")} characters)`;
}

function objectIn(values: Record<string, unknown>, name: string): Record<string, unknown> {
  const known = Object.hasOwn(values, name) ? values[name] : undefined;
  if (typeof known === "object" && known !== null && !Array.isArray(known)) return known as Record<string, unknown>;
  const made: Record<string, unknown> = {};
  Object.defineProperty(values, name, { value: made, enumerable: true, configurable: true, writable: true });
  return made;
}

/** Several fields with one name are a list. */
function joined(group: Record<string, unknown>, name: string, value: unknown, field: HTMLInputElement): unknown {
  if (!Object.hasOwn(group, name) || field.type === "radio") return value;
  const known = group[name];
  return Array.isArray(known) ? [...known, value] : [known, value];
}

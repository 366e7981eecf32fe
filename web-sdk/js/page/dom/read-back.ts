/** The value that a field has after an action, compared with the one that was set. */

import type { ReadBack } from "../driver.ts";
import { isChecked } from "./facts.ts";
import { is, isInPage } from "./flat-tree.ts";
import { isPassword } from "./password.ts";
import { labelOfOption, publicOptions } from "./select-options.ts";
import { fieldOf, findOption, isOn } from "./set-value.ts";
import { HIDDEN, editableText } from "./value.ts";

/** Returns what was set and what the field has now; nothing if it has left the page. */
export function readBack(element: Element, value: unknown): ReadBack | undefined {
  const field = isInPage(element) ? fieldOf(element) : undefined;
  if (!field) return undefined;
  if (isChecked(field)) return compare(String(value === true || value === "true" || value === "on"), String(isOn(field)));
  if (is(field, "select")) return compareOptions(field, value);
  if (is(field, "input") && field.type === "file") return compareFiles(field, value);
  const expected = String(value ?? "").replace(/\r\n/g, "\n");
  if (is(field, "textarea")) return compare(expected, field.value);
  if (!is(field, "input")) return compare(flatten(expected), flatten(editableText(field)));
  if (isPassword(field)) return { expected: HIDDEN, actual: HIDDEN, matches: expected === field.value };
  const isNumber = field.type === "number" || field.type === "range";
  const isSame = isNumber && expected !== "" && field.value !== "" && Number(expected) === Number(field.value);
  return { expected, actual: field.value, matches: isSame || normalize(field, expected) === normalize(field, field.value) };
}

const compare = (expected: string, actual: string): ReadBack => ({ expected, actual, matches: expected === actual });

/** Editors put lines into elements of their own. */
const flatten = (text: string): string => text.replace(/\s+/g, " ").trim();

/** The browser writes colours in small letters, and drops seconds that are 0. */
const normalize = ({ type }: HTMLInputElement, value: string): string =>
  type === "color" ? value.toLowerCase()
  : type === "time" || type === "datetime-local" ? value.replace(" ", "T").replace(/^(.*\d\d:\d\d):00(\.0+)?$/, "$1")
  : type === "email" || type === "url" ? value.trim()
  : value;

function compareOptions(field: HTMLSelectElement, value: unknown): ReadBack | undefined {
  const labels = (options: Iterable<HTMLOptionElement>) => publicOptions(options).map(labelOfOption).join(", ");
  const wanted = Array.isArray(value) ? value : [value ?? ""];
  try {
    const options = field.multiple && (value === null || value === undefined) ? [] : wanted.map((one) => findOption(field, String(one)));
    const inOrder = [...field.options].filter((option) => options.includes(option));
    return compare(labels(inOrder), labels(field.selectedOptions));
  } catch {
    // The page has changed the options since.
    return { expected: wanted.join(", "), actual: labels(field.selectedOptions), matches: false };
  }
}

function compareFiles(field: HTMLInputElement, value: unknown): ReadBack | undefined {
  const names = (Array.isArray(value) ? value : value ? [value] : []).map((file) => String((file as { name?: unknown }).name));
  const actual = [...(field.files ?? [])].map(({ name }) => name);
  // Many fields take their files and are empty again.
  return actual.length ? compare(names.join(", "), actual.join(", ")) : undefined;
}

/** Compares the value of a field after an action with the value that was set. */

import type { ReadBack } from "../driver.ts";
import { roleOf } from "./classify.ts";
import { isChecked } from "./field.ts";
import { is } from "./flat-tree.ts";
import { attributeOf } from "./native.ts";
import { labelOfOption, publicOptions } from "./select-options.ts";
import { isSecret } from "./secret.ts";
import { findOption, isOn } from "./set-value.ts";
import { currentField } from "./successor.ts";
import { HIDDEN, editableText } from "./value.ts";
import { sanitize } from "./value-format.ts";

/**
 * Returns the value that was set on an element and the current value of its field, which the page may have replaced;
 * nothing if the page has removed it, for example because the value became an item of a list. `warn` is called with the
 * page's format of the value if it has a mask, and if the page offers options for it.
 */
export function readBack(element: Element, value: unknown, warn: (text: string) => void): ReadBack | undefined {
  const field = currentField(element);
  if (!field) return undefined;
  if (!isSecret(field) && !isSecret(element)) return compareField(field, value, warn);
  const compared = compareField(field, value, () => {});
  return compared && { expected: HIDDEN, actual: HIDDEN, matches: compared.matches };
}

function compareField(field: Element, value: unknown, warn: (text: string) => void): ReadBack | undefined {
  if (isChecked(field)) return compare(String(value === true || value === "true" || value === "on"), String(isOn(field)));
  if (is(field, "select")) return compareOptions(field, value);
  if (is(field, "input") && field.type === "file") return compareFiles(field, value);
  const expected = String(value ?? "").replace(/\r\n/g, "\n");
  if (is(field, "textarea")) return compare(expected, field.value);
  if (!is(field, "input")) return compare(flatten(expected), flatten(editableText(field)));
  if (isOfferingOptions(field)) warn("the page shows options for this text: if it takes only one of them, click that one, as a new page_snapshot shows it");
  const { type, value: actual } = field;
  const isNumber = type === "number" || type === "range";
  const isSame = isNumber && expected !== "" && actual !== "" && Number(expected) === Number(actual);
  if (isSame || sanitize(field, expected) === actual) return { expected, actual, matches: true };
  const matches = /^(text|search|tel)$/.test(type) && isMasked(expected, actual);
  if (matches) warn(`the page wrote it as ${JSON.stringify(actual)}`);
  return { expected, actual, matches };
}

const compare = (expected: string, actual: string): ReadBack => ({ expected, actual, matches: expected === actual });

/** Returns whether a field has an open list. In most such fields, a text is a search and not yet a choice. */
const isOfferingOptions = (field: Element): boolean => roleOf(field) === "combobox" && attributeOf(field, "aria-expanded") === "true";

/** Editors put lines into separate elements. */
const flatten = (text: string): string => text.replace(/\s+/g, " ").trim();

/** Returns whether only spaces and punctuation differ, and a number is still the same. */
function isMasked(expected: string, actual: string): boolean {
  const [wanted, shown] = [expected, actual].map((text) => text.replace(/[^\p{L}\p{N}]/gu, ""));
  if (!wanted || wanted !== shown) return false;
  // A number without its sign or decimal point is a different number.
  return !/^[-+]?\d*[.,]?\d+$/.test(expected) || hasInOrder(actual, expected);
}

/** Returns whether a text contains all characters of another, in the same order. */
function hasInOrder(text: string, characters: string): boolean {
  let from = 0;
  return [...characters].every((char) => (from = text.indexOf(char, from) + 1) > 0);
}

function compareOptions(field: HTMLSelectElement, value: unknown): ReadBack | undefined {
  const labels = (options: Iterable<HTMLOptionElement>) => publicOptions(options).map(labelOfOption).join(", ");
  const wanted = Array.isArray(value) ? value : [value ?? ""];
  try {
    const options = field.multiple && (value === null || value === undefined) ? [] : wanted.map((one) => findOption(field, String(one)));
    const inOrder = [...field.options].filter((option) => options.includes(option));
    return compare(labels(inOrder), labels(field.selectedOptions));
  } catch {
    // The page has changed the options meanwhile.
    return { expected: wanted.join(", "), actual: labels(field.selectedOptions), matches: false };
  }
}

function compareFiles(field: HTMLInputElement, value: unknown): ReadBack | undefined {
  const names = (Array.isArray(value) ? value : value ? [value] : []).map((file) => String((file as { name?: unknown }).name));
  const actual = [...(field.files ?? [])].map(({ name }) => name);
  // Many fields take their files and become empty again.
  return actual.length ? compare(names.join(", "), actual.join(", ")) : undefined;
}

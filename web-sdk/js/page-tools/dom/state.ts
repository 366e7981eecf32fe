/** The state of a page: the app's own, or the values of its fields. */

import { flatElements, is, isUnreadable, viewOf } from "./flat-tree.ts";
import { surfaceOf } from "./hit.ts";
import { labelsOf } from "./labels.ts";
import { look } from "./look.ts";
import { attributeOf, isRendered } from "./native.ts";
import { isEditable } from "./node.ts";
import { isKeptBack } from "./private-content.ts";
import { isPublic } from "./secret.ts";
import { publicOptions } from "./select-options.ts";
import { boxesOf, getStyle, hasNoViewport, isPrivate } from "./shown.ts";
import { valueOf } from "./value.ts";
import { roleOf } from "./classify.ts";
import { isChecked } from "./field.ts";
import { isOn } from "./set-value.ts";

/** Returns the values of the fields in a page by their names: those of a named form are an object with that name. */
export function formValues(root: Element, maxValueBytes: number): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  look(root, () => {
    const fields = [...flatElements(root)].filter(isNamedField) as HTMLInputElement[];
    const boxes = countBoxes(fields);
    for (const field of fields) {
      const name = nameOfField(field)!;
      const isOneOfSeveral = isCheckbox(field) && boxes.get(field.form)!.get(name)! > 1;
      const value = isOneOfSeveral ? (field.checked ? [field.value] : []) : stateOf(field, maxValueBytes);
      if (value === undefined) continue;
      const form = field.form && !isKeptBack(field.form) && (attributeOf(field.form, "name") || attributeOf(field.form, "id"));
      const group = form ? objectIn(values, form) : values;
      // A page may have a field with the name `__proto__`.
      Object.defineProperty(group, name, { value: joined(group, name, value, field), enumerable: true, configurable: true, writable: true });
    }
  });
  return values;
}

function isNamedField(element: Element): boolean {
  const isHiddenInput = is(element, "input") && element.type === "hidden";
  if (isUnreadable(element) || (!isHiddenInput && !isEditable(element) && !isChecked(element))) return false;
  return !isPrivate(element) && !!nameOfField(element) && (isPublic(element) || isSeen(element));
}

/**
 * Returns whether a person sees a field, or the element drawn in its place. Other fields may contain data for the app only,
 * such as a token.
 */
const isSeen = (field: Element): boolean => (isRendered(field) && hasPlace(surfaceOf(field))) || labelsOf(field).some(hasPlace);

const hasPlace = (element: Element): boolean =>
  isRendered(element) && getStyle(element).visibility === "visible" && (hasNoViewport(viewOf(element)) || boxesOf(element).length > 0);

const nameOfField = (field: Element): string | undefined =>
  ["name", "id", "data-testid", "aria-label"].map((name) => attributeOf(field, name)).find((name) => name) ?? undefined;

/** Returns whether a field is a checkbox, of which a form submits only the checked ones. */
const isCheckbox = (field: Element): boolean => is(field, "input") && field.type === "checkbox";

/** Returns the number of checkboxes of each name in each form. */
function countBoxes(fields: readonly HTMLInputElement[]): Map<HTMLFormElement | null, Map<string, number>> {
  const counts = new Map<HTMLFormElement | null, Map<string, number>>();
  for (const field of fields.filter(isCheckbox)) {
    const names = counts.get(field.form) ?? new Map<string, number>();
    const name = nameOfField(field)!;
    counts.set(field.form, names.set(name, (names.get(name) ?? 0) + 1));
  }
  return counts;
}

function stateOf(field: HTMLInputElement, maxBytes: number): unknown {
  if (isChecked(field)) return field.type === "radio" || roleOf(field) === "radio" ? (isOn(field) ? field.value || true : undefined) : isOn(field);
  const value = is(field, "select") ? selectedValues(field as unknown as HTMLSelectElement) : valueOf(field, roleOf(field));
  return typeof value === "string" ? cutBytes(value, maxBytes) : value;
}

function selectedValues({ multiple, selectedOptions }: HTMLSelectElement): string | string[] | undefined {
  const values = publicOptions(selectedOptions).map(({ value }) => value);
  return multiple ? values : (values[0] ?? (selectedOptions.length ? undefined : ""));
}

/** Cuts a text to a number of bytes of UTF-8, and appends its original length. */
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

/** Several fields with one name become a list. */
function joined(group: Record<string, unknown>, name: string, value: unknown, field: HTMLInputElement): unknown {
  if (!Object.hasOwn(group, name) || field.type === "radio") return value;
  return [group[name], value].flat();
}

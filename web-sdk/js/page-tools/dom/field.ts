/** Finds the field that takes the value which is set on an element. */

import { roleOf } from "./classify.ts";
import { flatElements, is } from "./flat-tree.ts";
import { isRendered } from "./native.ts";
import { isEditable } from "./node.ts";

/** Returns whether a click checks and unchecks an element. */
export function isChecked(element: Element): boolean {
  return /^(checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(roleOf(element));
}

/** Returns whether an element itself takes a value. */
export const isField = (element: Element): boolean => isEditable(element) || isChecked(element);

/** Returns the field that takes the value of an element: itself, the control that it labels, or the only field in it. */
export function fieldOf(element: Element): Element | undefined {
  if (isField(element)) return element;
  if (is(element, "label") && element.control) return fieldOf(element.control);
  if (!/^(combobox|textbox|searchbox|spinbutton|group|)$/.test(roleOf(element))) return undefined;
  const inner = [...flatElements(element)].filter((one) => isEditable(one));
  const shown = inner.filter((one) => isRendered(one));
  // Drop areas for files contain a hidden file input.
  const fields = shown.length ? shown : inner.filter((one) => is(one, "input") && one.type === "file");
  return fields.length === 1 ? fields[0] : undefined;
}

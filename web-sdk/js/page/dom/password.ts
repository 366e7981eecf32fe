/** Fields of passwords, whose values are never shown. */

import { is } from "./flat-tree.ts";
import { attributeOf } from "./native.ts";

/** Fields that were of a password once: a page that shows a password makes its field one of text. */
const known = new WeakSet<Element>();

/** Whether an element is the field of a password, or was one when it was looked at before. */
export function isPassword(element: Element): boolean {
  if (!is(element, "input")) return false;
  if (known.has(element)) return true;
  if (element.type !== "password" && !/(^|\s)(current|new)-password(\s|$)/i.test(attributeOf(element, "autocomplete") ?? "")) return false;
  known.add(element);
  return true;
}

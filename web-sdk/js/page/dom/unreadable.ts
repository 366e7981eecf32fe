/** Forms that cannot be read: their fields hide what the library for roles and names needs of every element around one. */

import { flatClosest } from "./flat-tree.ts";
import { localNameOf } from "./native.ts";

/** A field with one of the first four names makes the library go round in circles; one with another makes it fail. */
const NEEDED = ["parentElement", "parentNode", "shadowRoot", "assignedSlot", "ownerDocument", "getAttribute", "hasAttribute", "tagName"];

/** Whether there was ever such a form: on nearly all pages there is none, and nothing has to be looked for. */
let isAny = false;

/** Returns the name of the field for which a form cannot be read. */
export function hidingField(element: Element): string | undefined {
  if (localNameOf(element) !== "form") return undefined;
  const name = NEEDED.find((needed) => Object.hasOwn(element, needed));
  if (name) isAny = true;
  return name;
}

/** Whether an element is a form that cannot be read, or in one. */
export const isUnreadable = (element: Element): boolean => isAny && !!flatClosest(element, hidingField);

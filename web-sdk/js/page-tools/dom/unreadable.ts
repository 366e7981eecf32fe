/**
 * Finds forms and documents that cannot be read: their fields or named elements hide members that the library for roles and
 * names needs. The library reads them without {@link read}.
 */

import { read } from "../../dom/native.ts";
import { documentOf, localNameOf } from "./native.ts";

/**
 * The members of forms that the library needs. If one of the first six is hidden, it loops forever; if another one is
 * hidden, it fails.
 */
const OF_FORM = [
  "parentElement", "parentNode", "shadowRoot", "assignedSlot", "nextSibling", "nextElementSibling",
  "ownerDocument", "getAttribute", "hasAttribute", "tagName",
];

/** The members of documents that the library needs. If the first one is hidden, it also loops forever. */
const OF_DOCUMENT = ["parentNode", "defaultView", "createRange"];

/** Whether such a form or document has ever existed. Nearly all pages have none, and nothing has to be searched. */
let isAny = false;

export const isAnyHidden = (): boolean => isAny;

/** Returns the name that makes a form, or the document with this root element, unreadable. */
export function hidingName(element: Element): string | undefined {
  const localName = localNameOf(element);
  if (localName !== "form" && localName !== "html") return undefined;
  const [owner, needed] = localName === "form" ? [element, OF_FORM] : [documentOf(element), OF_DOCUMENT];
  const name = needed.find((one) => isHidden(owner, one));
  if (name) isAny = true;
  return name;
}

/** Returns whether an element hides a member of an object's prototype. A value that a script has set is left alone. */
function isHidden(owner: object, name: string): boolean {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  return !!own && !own.get && typeof own.value !== "function" && own.value !== read(owner, name as never);
}

/**
 * Forms and documents that cannot be read: their fields, or their elements with a name, hide what the library for roles and
 * names needs. It reads them without {@link read}.
 */

import { read } from "../../dom/native.ts";
import { flatClosest } from "./flat-tree.ts";
import { documentOf, localNameOf } from "./native.ts";

/** What the library reads of forms and cannot do without. Without one of the first six it goes round in circles, without another it fails. */
const OF_FORM = [
  "parentElement", "parentNode", "shadowRoot", "assignedSlot", "nextSibling", "nextElementSibling",
  "ownerDocument", "getAttribute", "hasAttribute", "tagName",
];

/** What it reads of documents and cannot do without: the first one makes it go round in circles, too. */
const OF_DOCUMENT = ["parentNode", "defaultView", "createRange"];

/** Whether there was ever such a form or document: on nearly all pages there is none, and nothing has to be looked for. */
let isAny = false;

/** Returns the name for which a form, or the document of which an element is the root, cannot be read. */
export function hidingName(element: Element): string | undefined {
  const localName = localNameOf(element);
  if (localName !== "form" && localName !== "html") return undefined;
  const [owner, needed] = localName === "form" ? [element, OF_FORM] : [documentOf(element), OF_DOCUMENT];
  const name = needed.find((one) => isHidden(owner, one));
  if (name) isAny = true;
  return name;
}

/** Whether an element is in the place of what an object has by its prototypes. What a script has put there is left to it. */
function isHidden(owner: object, name: string): boolean {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  return !!own && !own.get && typeof own.value !== "function" && own.value !== read(owner, name as never);
}

/** Whether an element is a form that cannot be read, or in one, or in a document that cannot be read. */
export const isUnreadable = (element: Element): boolean => isAny && !!flatClosest(element, hidingName);

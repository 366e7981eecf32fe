/** Describes elements as the page's text does: for logs, messages, and the app that decides about an action. */

import { hasNameSource, roleOf } from "./classify.ts";
import { isOutside } from "./look.ts";
import { attributeOf, isRendered, localNameOf } from "./native.ts";
import { nameOf } from "./node.ts";
import { publicText } from "./public-text.ts";
import { isPrivate } from "./shown.ts";

/** Longer names and texts are cut. */
const MAX_TEXT = 200;

/**
 * Roles whose text is their content rather than a name: a click on a cell with the text "Delete" is a click on "Delete".
 */
const TEXTS = /^(row|cell|gridcell|rowheader|columnheader|listitem|paragraph|article|blockquote|term|definition|note|status|alert|figure|group)$/;

/**
 * Returns an element as the page's text describes it: its role and name or text, or the name that a developer would use.
 */
export function labelOf(element: Element): string {
  const role = roleOf(element);
  if (isPrivate(element) || isOutside(element)) return role || "an element";
  const name = role || hasNameSource(element) ? nameOf(element, role, !isRendered(element)) : "";
  const text = name || !role || TEXTS.test(role) ? (name || publicText([element])).slice(0, MAX_TEXT) : "";
  if (text) return `${role || (name ? localNameOf(element) : "element")} ${JSON.stringify(text)}`;
  if (role) return role;
  const id = attributeOf(element, "id");
  return `element <${localNameOf(element)}${id ? ` id=${JSON.stringify(id)}` : ""}>`;
}

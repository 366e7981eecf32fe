/**
 * Finds content inside other elements that is hidden from AI clients, because the names of elements consist of such
 * content.
 */

import { flatChildren, flatClosest, isElement } from "./flat-tree.ts";
import { labelsOf, referenced } from "./labels.ts";
import { isOutside } from "./look.ts";
import { childNodesOf, shadowRootOf } from "./native.ts";
import { isSecret } from "./secret.ts";
import { isMarkedPrivate, isPrivate } from "./shown.ts";
import { hidingName } from "./unreadable.ts";

/**
 * Returns whether an element is not shown at all: it is private or inside a private element, outside of the root, or cannot
 * be read.
 */
export const isKeptBack = (element: Element): boolean => isPrivate(element) || isOutside(element) || !!flatClosest(element, hidingName);

/** Returns whether an element contains a private one. */
export const hasPrivateInside = (element: Element): boolean => someInside([element], isMarkedPrivate, false);

/**
 * Returns whether the texts of elements, or the names of elements in them, contain hidden content. `named` is the element
 * that has its name from them: its own content is not part of its name if it is a field.
 */
export const hasKeptBack = (elements: readonly Element[], named?: Element): boolean =>
  elements.some(isKeptBack) ||
  someInside(elements, (one) => isMarkedPrivate(one) || (one !== named && isSecret(one)) || hidingName(one), true);

/** Returns whether any element inside others matches; with `isFollowed`, also the elements that name them. */
function someInside(elements: readonly Element[], isWanted: (element: Element) => unknown, isFollowed: boolean): boolean {
  const seen = new Set<Element>();
  const pending = [...elements];
  const add = (nodes: ArrayLike<Node>) => {
    for (let index = 0; index < nodes.length; index++) if (isElement(nodes[index])) pending.push(nodes[index] as Element);
  };
  for (let element = pending.pop(); element; element = pending.pop()) {
    if (seen.has(element)) continue;
    seen.add(element);
    if (isWanted(element)) return true;
    add(flatChildren(element));
    // Content without a slot is not part of the page, but may name an element.
    if (isFollowed && shadowRootOf(element)) add(childNodesOf(element));
    if (!isFollowed) continue;
    for (const naming of [...referenced(element, "aria-labelledby"), ...referenced(element, "aria-owns"), ...labelsOf(element)]) {
      if (isKeptBack(naming)) return true;
      pending.push(naming);
    }
  }
  return false;
}

/** What is kept from AI clients inside other elements: the names of elements are made of such content. */

import { flatChildren, flatClosest, isElement } from "./flat-tree.ts";
import { labelsOf, referenced } from "./labels.ts";
import { isOutside } from "./look.ts";
import { childNodesOf, shadowRootOf } from "./native.ts";
import { isSecret } from "./secret.ts";
import { isMarkedPrivate, isPrivate } from "./shown.ts";
import { hidingName } from "./unreadable.ts";

/** Whether nothing of an element is shown: it is private or in something private, outside of the root, or cannot be read. */
export const isKeptBack = (element: Element): boolean => isPrivate(element) || isOutside(element) || !!flatClosest(element, hidingName);

/** Whether something inside an element is private. */
export const hasPrivateInside = (element: Element): boolean => someInside([element], isMarkedPrivate, false);

/**
 * Whether there is something in the texts of elements, or in the names of what is in them, that is kept back. `named` is the
 * element that has its name from them: what it contains itself is no part of its name, if it is a field.
 */
export const hasKeptBack = (elements: readonly Element[], named?: Element): boolean =>
  elements.some(isKeptBack) ||
  someInside(elements, (one) => isMarkedPrivate(one) || (one !== named && isSecret(one)) || hidingName(one), true);

/** Whether any element inside some others is as asked; with `isFollowed`, also those from which they have their names. */
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
    // What has no slot is no part of the page, and may name something.
    if (isFollowed && shadowRootOf(element)) add(childNodesOf(element));
    if (!isFollowed) continue;
    for (const naming of [...referenced(element, "aria-labelledby"), ...referenced(element, "aria-owns"), ...labelsOf(element)]) {
      if (isKeptBack(naming)) return true;
      pending.push(naming);
    }
  }
  return false;
}

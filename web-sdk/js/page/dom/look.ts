/** One look at the page, within which nothing of it changes. */

import { beginAriaCaches, endAriaCaches } from "ivya/utils";
import { flatContains } from "./flat-tree.ts";
import { withLabels } from "./labels.ts";
import { contains, documentOf, findElements, isConnected } from "./native.ts";
import { isPassword } from "./password.ts";
import { hidingField } from "./unreadable.ts";

/** What page tools may see, while there is a look. */
let visible: Element | undefined;

/** What the actions may use that run. */
const limits = new Set<{ root: Element }>();

/** Limits what actions may use to what is in an element, and returns a function that ends it. */
export function limitTo(root: Element): () => void {
  const limit = { root };
  limits.add(limit);
  return () => void limits.delete(limit);
}

/** Runs a function that reads names and roles, with the element outside of which nothing is shown. */
export function look<Result>(root: Element, run: () => Result): Result {
  const outer = visible;
  visible = root;
  beginAriaCaches();
  try {
    if (!outer) for (const element of findElements(documentOf(root).documentElement, "form, input[type=password]")) isPassword(element) || hidingField(element);
    return outer ? run() : withLabels(run);
  } finally {
    visible = outer;
    endAriaCaches();
  }
}

/** Whether an element is outside of what page tools may see now. What the page has removed is nowhere. */
export const isOutside = (element: Element): boolean => (visible ? isOutsideOf(visible, element) : [...limits].some(({ root }) => isOutsideOf(root, element)));

const isOutsideOf = (root: Element, element: Element): boolean => isConnected(element) && !contains(root, element) && !flatContains(root, element);

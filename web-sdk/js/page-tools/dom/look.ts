/** One look at the page, within which nothing of it changes. */

import { beginAriaCaches, endAriaCaches } from "ivya/utils";
import { flatContains, pageViews } from "./flat-tree.ts";
import { withLabels } from "./labels.ts";
import { contains, findElements, isConnected } from "./native.ts";
import { noteSecret, withSecrets } from "./secret.ts";
import { hidingName } from "./unreadable.ts";

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
    return outer ? run() : withLabels(() => withSecrets(() => {
      for (const { document } of pageViews()) noteAll(document);
      return run();
    }));
  } finally {
    visible = outer;
    endAriaCaches();
  }
}

/** Notes which fields are secrets, and what cannot be read. */
function noteAll(document: Document): void {
  for (const element of findElements(document, "html, form, input[type=password], [aria-controls]")) noteSecret(element) || hidingName(element);
}

/** Whether an element is outside of what page tools may see now. What the page has removed is nowhere. */
export const isOutside = (element: Element): boolean => (visible ? isOutsideOf(visible, element) : [...limits].some(({ root }) => isOutsideOf(root, element)));

const isOutsideOf = (root: Element, element: Element): boolean => isConnected(element) && !contains(root, element) && !flatContains(root, element);

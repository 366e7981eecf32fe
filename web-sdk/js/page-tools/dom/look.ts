/** One look at the page, during which the page does not change. */

import { beginAriaCaches, endAriaCaches } from "ivya/utils";
import { flatContains, pageViews } from "./flat-tree.ts";
import { withLabels } from "./labels.ts";
import { contains, findElements, isConnected } from "./native.ts";
import { noteSecret, withSecrets } from "./secret.ts";
import { hidingName } from "./unreadable.ts";

/** The part of the page that page tools may see, during a look. */
let visible: Element | undefined;

/** The limits of the running actions. */
const limits = new Set<{ root: Element }>();

/** Limits the elements that actions may use to those in an element, and returns a function that removes the limit. */
export function limitTo(root: Element): () => void {
  const limit = { root };
  limits.add(limit);
  return () => void limits.delete(limit);
}

/** Runs a function that reads names and roles. Nothing outside of `root` is shown. */
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

/** Records which fields are secrets, and which parts cannot be read. */
function noteAll(document: Document): void {
  for (const element of findElements(document, "html, form, input[type=password], [aria-controls]")) noteSecret(element) || hidingName(element);
}

/** Returns whether an element is outside of the part that page tools may currently see. A removed element is outside. */
export const isOutside = (element: Element): boolean => (visible ? isOutsideOf(visible, element) : [...limits].some(({ root }) => isOutsideOf(root, element)));

const isOutsideOf = (root: Element, element: Element): boolean => isConnected(element) && !contains(root, element) && !flatContains(root, element);

/** One look at the page, within which nothing of it changes. */

import { beginAriaCaches, endAriaCaches } from "ivya/utils";
import { flatContains, pageViews } from "./flat-tree.ts";
import { withLabels } from "./labels.ts";
import { contains, findElements } from "./native.ts";
import { isPassword } from "./password.ts";
import { hidingName } from "./unreadable.ts";

/** What page tools may see, while there is a look. */
let visible: Element | undefined;

/** Runs a function that reads names and roles, with the element outside of which nothing is shown. */
export function look<Result>(root: Element, run: () => Result): Result {
  const outer = visible;
  visible = root;
  beginAriaCaches();
  try {
    if (!outer) for (const { document } of pageViews()) noteAll(document);
    return outer ? run() : withLabels(run);
  } finally {
    visible = outer;
    endAriaCaches();
  }
}

/** Notes which fields are passwords, and what cannot be read. */
function noteAll(document: Document): void {
  for (const element of findElements(document, "html, form, input[type=password]")) isPassword(element) || hidingName(element);
}

/** Whether an element is outside of what page tools may see. */
export const isOutside = (element: Element): boolean => !!visible && !contains(visible, element) && !flatContains(visible, element);

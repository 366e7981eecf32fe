/** One look at the page, within which nothing of it changes. */

import { beginAriaCaches, endAriaCaches } from "ivya/utils";
import { flatContains } from "./flat-tree.ts";
import { withLabels } from "./labels.ts";
import { contains, documentOf, findElements } from "./native.ts";
import { noteSecret, withSecrets } from "./secret.ts";
import { hidingField } from "./unreadable.ts";

/** What page tools may see, while there is a look. */
let visible: Element | undefined;

/** Runs a function that reads names and roles, with the element outside of which nothing is shown. */
export function look<Result>(root: Element, run: () => Result): Result {
  const outer = visible;
  visible = root;
  beginAriaCaches();
  try {
    return outer ? run() : withLabels(() => withSecrets(() => {
      for (const element of findElements(documentOf(root).documentElement, "form, input[type=password], [aria-controls]")) noteSecret(element) || hidingField(element);
      return run();
    }));
  } finally {
    visible = outer;
    endAriaCaches();
  }
}

/** Whether an element is outside of what page tools may see. */
export const isOutside = (element: Element): boolean => !!visible && !contains(visible, element) && !flatContains(visible, element);

/**
 * The labels of fields, for one look at a page. For each field the browser searches the whole document for its labels, which
 * takes seconds in a page of thousands of fields.
 */

import { pageViews } from "./flat-tree.ts";
import { findElements, rootNodeOf } from "./native.ts";

const CLASSES = [
  "HTMLButtonElement", "HTMLInputElement", "HTMLMeterElement", "HTMLOutputElement", "HTMLProgressElement", "HTMLSelectElement", "HTMLTextAreaElement",
] as const;

/**
 * Runs a function for which `labels` of a field is a list that is made once for each document and shadow root. The page cannot
 * see that: the function returns before any of its own does.
 */
export function withLabels<Result>(run: () => Result): Result {
  const known = new Map<Node, Map<Element, HTMLLabelElement[]>>();
  const get = function (this: Element): HTMLLabelElement[] {
    const root = rootNodeOf(this);
    let labels = known.get(root);
    if (!labels) known.set(root, (labels = labelsIn(root as ParentNode)));
    return labels.get(this) ?? [];
  };
  const replaced: [prototype: object, original: PropertyDescriptor][] = [];
  for (const view of pageViews()) {
    for (const name of CLASSES) {
      const { prototype } = view[name];
      const original = Object.getOwnPropertyDescriptor(prototype, "labels");
      if (!original?.configurable) continue;
      Object.defineProperty(prototype, "labels", { ...original, get });
      replaced.push([prototype, original]);
    }
  }
  try {
    return run();
  } finally {
    for (const [prototype, original] of replaced) Object.defineProperty(prototype, "labels", original);
  }
}

/** Returns the labels in a document or shadow root by the field that each is of. */
function labelsIn(root: ParentNode): Map<Element, HTMLLabelElement[]> {
  const labels = new Map<Element, HTMLLabelElement[]>();
  for (const label of findElements<HTMLLabelElement>(root, "label")) {
    const { control } = label;
    if (control) labels.set(control, [...(labels.get(control) ?? []), label]);
  }
  return labels;
}

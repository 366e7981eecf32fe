/**
 * The labels of fields. For each field the browser searches the whole document for labels, which takes seconds in a page of
 * thousands of fields. One look at a page searches only once.
 */

import { read } from "../../dom/native.ts";
import { pageViews } from "./flat-tree.ts";
import { attributeOf, elementById, findElements, rootNodeOf } from "./native.ts";

const CLASSES = [
  "HTMLButtonElement", "HTMLInputElement", "HTMLMeterElement", "HTMLOutputElement", "HTMLProgressElement", "HTMLSelectElement", "HTMLTextAreaElement",
] as const;

/**
 * Runs a function during which `labels` of a field is a list that is created once per document and shadow root. The page
 * cannot notice it, because the function returns before any of the page's own code runs.
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

/** Returns the labels of a control. */
export const labelsOf = (element: Element): Element[] => [...(read(element as HTMLInputElement, "labels") ?? [])];

/** Returns the elements that an attribute refers to. */
export function referenced(element: Element, attribute: string): Element[] {
  const ids = attributeOf(element, attribute)?.trim().split(/\s+/);
  if (!ids) return [];
  const root = rootNodeOf(element);
  return ids.flatMap((id) => (id && elementById(root, id)) || []);
}

/** Returns the labels in a document or shadow root, by the field that each belongs to. */
function labelsIn(root: ParentNode): Map<Element, HTMLLabelElement[]> {
  const labels = new Map<Element, HTMLLabelElement[]>();
  for (const label of findElements<HTMLLabelElement>(root, "label")) {
    const { control } = label;
    if (control) labels.set(control, [...(labels.get(control) ?? []), label]);
  }
  return labels;
}

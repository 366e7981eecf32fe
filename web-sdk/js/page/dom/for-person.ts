/**
 * What only the person uses: the surface of the SDK, `<mcp-web-ask>`, and what an app marks with `data-mcp-person`, such as the
 * controls of a chat. It is not part of the page for page tools, and no action reaches it from outside.
 */

import { read } from "../../dom/native.ts";
import { flatAncestors, flatClosest, is } from "./flat-tree.ts";
import { attributeOf, elementById, elementsOf, rootNodeOf } from "./native.ts";
import { isPersonOnly } from "./person-mark.ts";

/** Whether an element is, or is in, something that only the person uses. */
export const isForPerson = (element: Element): boolean => !!flatClosest(element, isPersonOnly);

/** Whether using an element would use something that only the person uses. */
export function reachesPerson(element: Element): boolean {
  for (const around of flatAncestors(element)) {
    if (isPersonOnly(around)) return true;
    // A click on what is in a button or a label is one on these.
    if ((around === element || is(around, "button", "label")) && activated(around).some(isForPerson)) return true;
  }
  return false;
}

/** Returns what the browser itself does something to when an element is used. */
function activated(element: Element): Element[] {
  if (is(element, "label")) return [element.control].filter((one) => one !== null);
  const form = read(element as HTMLInputElement, "form");
  const owner = is(element, "form") ? element : is(form, "form") ? form : undefined;
  const all = owner ? [...elementsOf(owner)] : [];
  const isReset = (is(element, "button") || is(element, "input")) && element.type === "reset";
  const isRadio = (one: Element) => is(one, "input") && one.type === "radio";
  const used = all.filter((one) =>
    owner === element || isSubmitButton(element) ? isSubmitButton(one)
    : isReset ? true
    : isRadio(element) && isRadio(one) && read(one as HTMLInputElement, "name") === read(element as HTMLInputElement, "name"),
  );
  return [...(owner ? [owner] : []), ...used, ...targetsOf(element)];
}

/** Whether a click on an element submits its form. */
export const isSubmitButton = (element: Element): element is HTMLButtonElement | HTMLInputElement =>
  (is(element, "button") && element.type === "submit") || (is(element, "input") && /^(submit|image)$/.test(element.type));

/** Returns the elements that a button opens, closes or commands. */
function targetsOf(element: Element): Element[] {
  if (!is(element, "button", "input")) return [];
  const root = rootNodeOf(element);
  const named = ["popovertarget", "commandfor"].map((name) => elementById(root, attributeOf(element, name) ?? ""));
  const { popoverTargetElement, commandForElement } = element as { popoverTargetElement?: Element | null; commandForElement?: Element | null };
  return [...named, popoverTargetElement, commandForElement].filter((one) => !!one);
}

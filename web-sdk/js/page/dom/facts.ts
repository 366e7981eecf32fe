/** What is known of the target of an action, immediately before it. */

import { beginAriaCaches, endAriaCaches, getAriaDisabled } from "ivya/utils";
import type { TargetFacts } from "../driver.ts";
import { classify, hasNameSource, roleOf } from "./classify.ts";
import { flatAncestors, flatClosest, flatContains, viewOf } from "./flat-tree.ts";
import { coverOf, surfaceOf } from "./hit.ts";
import { isBehind, openModal } from "./modal.ts";
import { isEditable, isReadOnly, nameOf } from "./node.ts";
import { publicText } from "./public-text.ts";
import { scrollIntoView } from "./scroll.ts";
import { boxesOf, getStyle, hasNoViewport, isPrivate, isShown } from "./shown.ts";

/** Elements that the browser itself disables. */
const CAN_BE_DISABLED = new Set(["button", "input", "select", "textarea", "option", "optgroup"]);

/** Scrolls an element into view, and returns what is known of it. `onScroll` is told the label if anything had to be scrolled. */
export function inspectElement(element: Element, root: Element, onScroll: (label: string) => void): TargetFacts {
  beginAriaCaches();
  try {
    const facts: TargetFacts = { label: labelOf(element) };
    if (!flatContains(root, element)) return { ...facts, outside: true };
    if (isPrivate(element)) return { ...facts, private: true };
    const disabled = disabledBy(element);
    if (disabled) facts.disabled = disabled;
    if (isReadOnly(element)) facts.readOnly = true;
    if (isEditable(element) || isChecked(element)) facts.editable = true;
    const surface = surfaceOf(element);
    if (surface === element && getStyle(element).pointerEvents === "none") facts.disabled ??= "pointer-events: none";
    if (!isShown(element) || (!hasNoViewport(viewOf(element)) && !boxesOf(surface).length)) return { ...facts, hidden: true };
    return { ...facts, ...placeOf(element, root, () => onScroll(facts.label)) };
  } finally {
    endAriaCaches();
  }
}

/** Returns an element in the words of the page's text: its role and name, or what a developer would call it. */
export function labelOf(element: Element): string {
  const role = roleOf(element);
  if (isPrivate(element)) return role || "a private element";
  const name = role || hasNameSource(element) ? nameOf(element, role) : "";
  if (name) return `${role || element.localName} ${JSON.stringify(name.slice(0, 100))}`;
  if (role) return role;
  const text = publicText([element]).slice(0, 60);
  return text ? `element ${JSON.stringify(text)}` : `element <${element.localName}${element.id ? ` id=${JSON.stringify(element.id)}` : ""}>`;
}

/** Whether an element is checked and unchecked by a click. */
export function isChecked(element: Element): boolean {
  return /^(checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(roleOf(element));
}

function disabledBy(element: Element): TargetFacts["disabled"] {
  if (flatClosest(element, (one) => one.hasAttribute("inert"))) return "inert";
  if (CAN_BE_DISABLED.has(element.localName)) {
    if (element.hasAttribute("disabled")) return "disabled";
    if (element.matches(":disabled")) return "fieldset";
  } else if (element.matches(":disabled")) return "disabled";
  return getAriaDisabled(element) ? "aria-disabled" : undefined;
}

/** Returns whether an element can be seen where it is, after it was scrolled into view if it has to be. */
function placeOf(element: Element, root: Element, onScroll: () => void): Pick<TargetFacts, "hidden" | "coveredBy"> {
  const modal = openModal(root);
  if (modal && isBehind(modal, element)) return { coveredBy: labelOf(modal) };
  if (hasNoViewport(viewOf(element))) return {};
  if (!coverOf(element)) return {};
  const surface = surfaceOf(element);
  if (scrollIntoView(surface)) onScroll();
  const cover = coverOf(element);
  if (cover === "out-of-view") return { hidden: true };
  return cover ? { coveredBy: labelOf(coverRoot(cover, element)) } : {};
}

/** Returns the outermost element that covers another one and not more: a dialog, rather than a text in it. */
function coverRoot(cover: Element, covered: Element): Element {
  const around = new Set(flatAncestors(covered));
  let best = cover;
  for (const outer of flatAncestors(cover)) {
    if (around.has(outer)) break;
    const { isNode } = classify(outer, getStyle(outer), { isInControl: false, isPointer: true });
    if (isNode || !roleOf(best)) best = outer;
  }
  return best;
}

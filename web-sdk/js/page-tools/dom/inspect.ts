/** The facts about the target of an action, immediately before it. */

import { getAriaDisabled } from "ivya/utils";
import type { Action } from "../actions.ts";
import type { TargetFacts } from "../driver.ts";
import { labelOf } from "./action-label.ts";
import { effectsOf } from "./action-effects.ts";
import { classify, roleOf } from "./classify.ts";
import { fieldOf } from "./field.ts";
import { deepActiveElement, flatAncestors, flatClosest, isUnreadable, viewOf } from "./flat-tree.ts";
import { coverOf, surfaceOf } from "./hit.ts";
import { isForbidden } from "./permission.ts";
import { isOutside, look } from "./look.ts";
import { isBehind, openModal } from "./modal.ts";
import { hasAttribute, localNameOf, matches } from "./native.ts";
import { isReadOnly } from "./node.ts";
import { scrollIntoView } from "./scroll.ts";
import { boxesOf, getStyle, hasNoViewport, isShown } from "./shown.ts";

/** Elements that the browser itself disables. */
const CAN_BE_DISABLED = new Set(["button", "input", "select", "textarea", "option", "optgroup"]);

/** Scrolls an element into view, and returns its facts. `onScroll` is called with the label if anything was scrolled. */
export function inspectElement(element: Element, root: Element, action: Action, onScroll: (label: string) => void): TargetFacts {
  return look(root, () => {
    const facts: TargetFacts = { label: labelOf(element) };
    if (isForbidden({ element })) return { ...facts, ...whyForbidden(element) };
    if (isUnreadable(element)) return { ...facts, hidden: true };
    const effects = effectsOf(action, element);
    const forbidden = effects.find(isForbidden)?.element;
    if (forbidden) return { label: `what ${facts.label} acts on (${labelOf(forbidden)})`, ...whyForbidden(forbidden) };
    const field = fieldOf(element);
    const other = effects.find((one) => one.isUsed && one.element !== element)?.element;
    // Enter has no effect on a disabled button, and the page may handle the key.
    const disabled = disabledBy(element) ?? (other && action.type !== "pressKey" ? disabledBy(other) : undefined);
    if (disabled) facts.disabled = disabled;
    // Keys go to the focused element wherever it is, and scrolling could disturb it.
    if (action.type === "pressKey" && deepActiveElement() === element) return facts;
    if (isReadOnly(field ?? element)) facts.readOnly = true;
    if (field) facts.editable = true;
    const surface = surfaceOf(element);
    if (surface === element && getStyle(element).pointerEvents === "none") facts.disabled ??= "pointer-events: none";
    if (!isShown(element) || (!hasNoViewport(viewOf(element)) && !boxesOf(surface).length)) return { ...facts, hidden: true };
    return { ...facts, ...placeOf(element, root, () => onScroll(facts.label)) };
  });
}

/** Returns why an element must not be used. If it is not outside of the root, it is private or contains private content. */
const whyForbidden = (element: Element): Partial<TargetFacts> => (isOutside(element) ? { outside: true } : { private: true });

function disabledBy(element: Element): TargetFacts["disabled"] {
  if (flatClosest(element, (one) => hasAttribute(one, "inert"))) return "inert";
  if (CAN_BE_DISABLED.has(localNameOf(element))) {
    if (hasAttribute(element, "disabled")) return "disabled";
    if (matches(element, ":disabled")) return "fieldset";
  } else if (matches(element, ":disabled")) return "disabled";
  return getAriaDisabled(element) ? "aria-disabled" : undefined;
}

/** Returns whether an element is visible, after scrolling it into view if necessary. */
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

/** Returns the outermost element that covers another one and no more: a dialog instead of a text in it. */
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

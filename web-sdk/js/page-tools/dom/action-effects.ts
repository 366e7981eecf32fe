/**
 * The elements that an action affects: its target, the receivers of its events, and the targets of the browser's default
 * actions.
 */

import type { Action } from "../actions.ts";
import { labelOf } from "./action-label.ts";
import { roleOf } from "./classify.ts";
import { effectsOfClick, effectsOfFocus, effectsOfKey, effectsOfReset, effectsOfShowing, effectsOfSubmit, changed, isEditor, used } from "./default-actions.ts";
import { fieldOf, isChecked } from "./field.ts";
import { deepActiveElement, flatContains, is, viewOf } from "./flat-tree.ts";
import { isFocusable } from "./focus.ts";
import { centreOf, hitElement, hitInside, surfaceOf } from "./hit.ts";
import { type AffectedElement, isForbidden } from "./permission.ts";
import { findKey, heldOf } from "./key-names.ts";
import { methodTargetOf } from "./methods.ts";
import { documentOf } from "./native.ts";
import { nameOf } from "./node.ts";
import { publicText } from "./public-text.ts";
import { hasNoViewport } from "./shown.ts";
import { formOf } from "./submit.ts";

/** Returns the elements that an action affects, its target first. `to` is the target of a drag. */
export function effectsOf(action: Action, element: Element | undefined, to?: Element): AffectedElement[] {
  if (action.type === "pressKey") return effectsOfPress(action, element);
  if (!element) return [];
  return [...changed(element), ...effectsWith(action, element, to)];
}

function effectsWith(action: Exclude<Action, { type: "pressKey" }>, element: Element, to: Element | undefined): AffectedElement[] {
  switch (action.type) {
    case "setValue":
      return effectsOfValue(element);
    case "triggerEvent":
      return effectsOfEvent(element, action.event);
    case "callMethod":
      return effectsOfMethod(methodTargetOf(element, action.method), action.method);
    case "drag":
      return to ? effectsOfDrop(to) : [];
    case "hover":
    case "scroll":
    case "setState":
    case "setGlobal":
    case "navigate":
    case "waitFor":
      return changed(surfaceOf(element));
    default:
      return action satisfies never;
  }
}

function effectsOfValue(element: Element): AffectedElement[] {
  const field = fieldOf(element);
  if (!field) return [];
  if (isChecked(field)) return [used(field), ...effectsOfPointer(field)];
  return [{ ...used(field), isWhole: isEditor(field) }, ...effectsOfFocus(field)];
}

function effectsOfEvent(element: Element, event: string): AffectedElement[] {
  const name = /^(?:on)?(.*)$/i.exec(event)![1]!.toLowerCase();
  if (/^((dbl|double)?click)$/.test(name)) return effectsOfPointer(element);
  if (name === "contextmenu") return changed(surfaceOf(element));
  if (name === "focus") return effectsOfFocus(element);
  const form = name === "submit" && formOf(element);
  return form ? effectsOfSubmit(form) : [];
}

/** Returns the elements that a mouse click on an element affects. */
export function effectsOfPointer(element: Element): AffectedElement[] {
  const surface = surfaceOf(element);
  const hit = hitInside(surface, centreOf(surface));
  return [...(isPart(hit, element) ? [] : [used(hit)]), ...effectsOfClick(hit)];
}

/** Returns the elements that a drop on an element affects, including the one at its centre. */
function effectsOfDrop(element: Element): AffectedElement[] {
  const { x, y } = centreOf(element);
  const hit = hasNoViewport(viewOf(element)) ? undefined : hitElement(documentOf(element), x, y);
  const isOther = hit && flatContains(element, hit) && !isForbidden({ element: hit }) && !isPart(hit, element);
  return [used(element), ...(isOther ? [used(hit)] : [])];
}

/** Returns whether the label of another element includes all texts of an element. */
function isPart(inner: Element, element: Element): boolean {
  if (inner === element) return true;
  const label = labelOf(element);
  return [nameOf(inner, roleOf(inner)), publicText([inner])].every((text) => label.includes(JSON.stringify(text).slice(1, -1)));
}

function effectsOfPress({ key: name, modifiers }: Action & { type: "pressKey" }, element: Element | undefined): AffectedElement[] {
  const active = deepActiveElement();
  const target = element && !(flatContains(element, active) && !isFocusable(element)) ? element : active;
  const found = findKey(name, modifiers);
  if (!target || !found) return [];
  // A label gives the focus to its control, which then receives the key.
  const focused = target === active ? [target] : effectsOfFocus(target).map((one) => one.element);
  const isPage = (one: Element) => is(one, "body") && !isEditor(one);
  return [...changed(element), ...focused.flatMap((one) => [...(isPage(one) ? [] : [used(one)]), ...effectsOfKey(one, found.key, heldOf(found.modifiers))])];
}

function effectsOfMethod(target: Element | undefined, method: string): AffectedElement[] {
  if (!target) return [];
  if (method === "reset") return effectsOfReset(target as HTMLFormElement);
  if (method === "requestSubmit") return effectsOfSubmit(target as HTMLFormElement);
  return /^(show|close|hide)/.test(method) ? effectsOfShowing(target) : changed(target);
}

/** What an action acts upon: its target, what gets its events, and what the browser does with them. */

import type { Action } from "../actions.ts";
import { labelOf } from "./action-label.ts";
import { roleOf } from "./classify.ts";
import { affectedByClick, affectedByFocus, affectedByKey, affectedByReset, affectedByShowing, affectedBySubmit, changed, isEditor, used } from "./default-actions.ts";
import { fieldOf, isChecked } from "./field.ts";
import { deepActiveElement, flatContains, is, viewOf } from "./flat-tree.ts";
import { isFocusable } from "./focus.ts";
import { centreOf, hitElement, hitInside, surfaceOf } from "./hit.ts";
import { type Affected, isKept } from "./kept.ts";
import { findKey, heldOf } from "./key-names.ts";
import { methodTargetOf } from "./methods.ts";
import { documentOf } from "./native.ts";
import { nameOf } from "./node.ts";
import { publicText } from "./public-text.ts";
import { hasNoViewport } from "./shown.ts";
import { formOf } from "./submit.ts";

/** Returns what an action acts upon, its target first. What comes where something is dragged to is `to`. */
export function affectedBy(action: Action, element: Element | undefined, to?: Element): Affected[] {
  if (action.type === "pressKey") return affectedByPress(action, element);
  if (!element) return [];
  return [...changed(element), ...affectedWith(action, element, to)];
}

function affectedWith(action: Action, element: Element, to: Element | undefined): Affected[] {
  switch (action.type) {
    case "setValue":
      return affectedByValue(element);
    case "triggerEvent":
      return affectedByEvent(element, action.event);
    case "callMethod":
      return affectedByMethod(methodTargetOf(element, action.method), action.method);
    case "drag":
      return to ? affectedByDrop(to) : [];
    default:
      return changed(surfaceOf(element));
  }
}

function affectedByValue(element: Element): Affected[] {
  const field = fieldOf(element);
  if (!field) return [];
  if (isChecked(field)) return [used(field), ...affectedByPointer(field)];
  return [{ ...used(field), isWhole: isEditor(field) }, ...affectedByFocus(field)];
}

function affectedByEvent(element: Element, event: string): Affected[] {
  const name = /^(?:on)?(.*)$/i.exec(event)![1]!.toLowerCase();
  if (/^((dbl|double)?click)$/.test(name)) return affectedByPointer(element);
  if (name === "contextmenu") return changed(surfaceOf(element));
  if (name === "focus") return affectedByFocus(element);
  const form = name === "submit" && formOf(element);
  return form ? affectedBySubmit(form) : [];
}

/** What a click of a mouse at an element acts upon. */
export function affectedByPointer(element: Element): Affected[] {
  const surface = surfaceOf(element);
  const hit = hitInside(surface, centreOf(surface));
  return [...(isPart(hit, element) ? [] : [used(hit)]), ...affectedByClick(hit)];
}

/** What is acted upon when something is dropped on an element: also what is in its middle. */
function affectedByDrop(element: Element): Affected[] {
  const { x, y } = centreOf(element);
  const hit = hasNoViewport(viewOf(element)) ? undefined : hitElement(documentOf(element), x, y);
  const isOther = hit && flatContains(element, hit) && !isKept({ element: hit }) && !isPart(hit, element);
  return [used(element), ...(isOther ? [used(hit)] : [])];
}

/** Whether an element says nothing that the label of another one does not say. */
function isPart(inner: Element, element: Element): boolean {
  if (inner === element) return true;
  const label = labelOf(element);
  return [nameOf(inner, roleOf(inner)), publicText([inner])].every((text) => label.includes(JSON.stringify(text).slice(1, -1)));
}

function affectedByPress({ key: name, modifiers }: Action & { type: "pressKey" }, element: Element | undefined): Affected[] {
  const active = deepActiveElement();
  const target = element && !(flatContains(element, active) && !isFocusable(element)) ? element : active;
  const found = findKey(name, modifiers);
  if (!target || !found) return [];
  // A label gives its control the focus, and the key comes there.
  const focused = target === active ? [target] : affectedByFocus(target).map((one) => one.element);
  const isPage = (one: Element) => is(one, "body") && !isEditor(one);
  return [...changed(element), ...focused.flatMap((one) => [...(isPage(one) ? [] : [used(one)]), ...affectedByKey(one, found.key, heldOf(found.modifiers))])];
}

function affectedByMethod(target: Element | undefined, method: string): Affected[] {
  if (!target) return [];
  if (method === "reset") return affectedByReset(target as HTMLFormElement);
  if (method === "requestSubmit") return affectedBySubmit(target as HTMLFormElement);
  return /^(show|close|hide)/.test(method) ? affectedByShowing(target) : changed(target);
}

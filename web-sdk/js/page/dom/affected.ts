/** What an action acts upon: its target, what gets its events, and what the browser does with them. */

import type { Action } from "../actions.ts";
import { roleOf } from "./classify.ts";
import { type Affected, affectedByClick, affectedByFocus, affectedByKey, affectedByReset, affectedByShowing, affectedBySubmit, changed, isEditor } from "./default-actions.ts";
import { fieldOf, isChecked } from "./field.ts";
import { deepActiveElement, flatContains } from "./flat-tree.ts";
import { isFocusable } from "./focus.ts";
import { centreOf, hitInside, surfaceOf } from "./hit.ts";
import { findKey, heldOf } from "./key-names.ts";
import { methodTargetOf } from "./methods.ts";
import { nameOf } from "./node.ts";
import { publicText } from "./public-text.ts";
import { formOf } from "./submit.ts";

/** Of a name, so much is shown to who decides about an action. */
const MAX_SHOWN = 60;

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
      return changed(to);
    default:
      return changed(surfaceOf(element));
  }
}

function affectedByValue(element: Element): Affected[] {
  const field = fieldOf(element);
  if (!field) return [];
  if (isChecked(field)) return [{ element: field, isUsed: true }, ...affectedByPointer(field)];
  return [{ element: field, isUsed: true, isWhole: isEditor(field) }, ...affectedByFocus(field)];
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
  return [...(isPart(hit, surface) ? [] : [{ element: hit, isUsed: true }]), ...affectedByClick(hit)];
}

/** Whether an element says nothing that the name of what it is in does not say. */
function isPart(inner: Element, element: Element): boolean {
  const text = inner === element ? "" : publicText([inner]);
  return !text || (nameOf(element, roleOf(element)) || publicText([element])).slice(0, MAX_SHOWN).includes(text);
}

function affectedByPress({ key: name, modifiers }: Action & { type: "pressKey" }, element: Element | undefined): Affected[] {
  const active = deepActiveElement();
  const target = element && !(flatContains(element, active) && !isFocusable(element)) ? element : active;
  const found = findKey(name, modifiers);
  if (!target || !found) return [];
  return [...changed(element), ...(target === active ? [] : affectedByFocus(target)), ...affectedByKey(target, found.key, heldOf(found.modifiers))];
}

function affectedByMethod(target: Element | undefined, method: string): Affected[] {
  if (!target) return [];
  if (method === "reset") return affectedByReset(target as HTMLFormElement);
  if (method === "requestSubmit") return affectedBySubmit(target as HTMLFormElement);
  return /^(show|close|hide)/.test(method) ? affectedByShowing(target) : changed(target);
}

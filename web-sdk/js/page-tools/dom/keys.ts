/** Presses keys: fires their events, and performs the browser's default action if the page does not cancel it. */

import { effectsOfKey } from "./default-actions.ts";
import { dispatch } from "./dispatch.ts";
import { deepActiveElement, flatContains, isInPage } from "./flat-tree.ts";
import { focusElement } from "./focus.ts";
import { isForbidden, refuseForbidden } from "./permission.ts";
import { keyDown, keyUp } from "./key-defaults.ts";
import { type Modifier, heldOf, keyOf } from "./key-names.ts";
import { bodyOf } from "./native.ts";

/** The legacy key codes that some pages still compare. */
const KEY_CODES: Record<string, number> = {
  Backspace: 8, Tab: 9, Enter: 13, Shift: 16, Control: 17, Alt: 18, Escape: 27, " ": 32, PageUp: 33, PageDown: 34, End: 35, Home: 36,
  ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Insert: 45, Delete: 46, Meta: 91,
};

/**
 * Presses a key on an element, which gets the focus if possible, or on the focused element.
 *
 * @throws ActionError if the focused element must not be used, including after the page has moved the focus.
 */
export function pressKey(element: Element | undefined, key: string, modifiers: readonly Modifier[] = []): void {
  ({ key, modifiers } = keyOf(key, modifiers));
  const held = heldOf(modifiers);
  const fields = { key, code: codeOf(key), keyCode: keyCodeOf(key), which: keyCodeOf(key), ...held };
  const target = focusFor(element);
  const check = (one: Element) => refuseForbidden(effectsOfKey(one, key, held));
  check(target);
  if (dispatch(target, "keydown", fields)) {
    const isTyped = [...key].length === 1 || key === "Enter";
    const isCommand = held.ctrlKey || held.metaKey || held.altKey;
    const charCode = key === "Enter" ? 13 : (key.codePointAt(0) ?? 0);
    const focused = focusAfter(target);
    check(focused);
    if (!isTyped || isCommand || dispatch(focused, "keypress", { ...fields, charCode, keyCode: charCode, which: charCode })) keyDown(focused, key, held);
  }
  const released = focusAfter(target);
  if (!isForbidden({ element: released }) && dispatch(released, "keyup", fields)) keyUp(released, key, held);
}

/**
 * Focuses an element, and returns the receiver of its keys: the focused descendant, or itself if it cannot have the focus.
 */
function focusFor(element: Element | undefined): Element {
  const active = () => deepActiveElement() ?? bodyOf(document);
  if (!element || active() === element) return active();
  focusElement(element);
  return flatContains(element, active()) ? active() : element;
}

/** Returns the focused element after an event, which may have moved the focus or removed the target. */
function focusAfter(target: Element): Element {
  const active = deepActiveElement();
  if (active && active !== bodyOf(document)) return active;
  return isInPage(target) ? target : bodyOf(document);
}

function codeOf(key: string): string {
  if (/^[a-z]$/i.test(key)) return `Key${key.toUpperCase()}`;
  if (/^\d$/.test(key)) return `Digit${key}`;
  if (key === " ") return "Space";
  return key.length > 1 ? (/^(Shift|Control|Alt|Meta)$/.test(key) ? `${key}Left` : key) : "";
}

function keyCodeOf(key: string): number {
  const functionKey = /^F(\d{1,2})$/.exec(key)?.[1];
  if (functionKey) return 111 + Number(functionKey);
  return KEY_CODES[key] ?? (/^[a-z\d]$/i.test(key) ? key.toUpperCase().charCodeAt(0) : 0);
}

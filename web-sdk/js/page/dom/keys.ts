/** Keys: their events, and what the browser does with a key that the page has not cancelled. */

import { dispatch } from "./dispatch.ts";
import { deepActiveElement, isInPage } from "./flat-tree.ts";
import { keyDown, keyUp } from "./key-defaults.ts";
import { keyOf } from "./key-names.ts";

export type Modifier = "Alt" | "Control" | "Meta" | "Shift";

/** The legacy codes that pages still compare. */
const KEY_CODES: Record<string, number> = {
  Backspace: 8, Tab: 9, Enter: 13, Shift: 16, Control: 17, Alt: 18, Escape: 27, " ": 32, PageUp: 33, PageDown: 34, End: 35, Home: 36,
  ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Insert: 45, Delete: 46, Meta: 91,
};

/** Presses a key, with the focus where it is. */
export function pressKey(key: string, modifiers: readonly Modifier[] = []): void {
  ({ key, modifiers } = keyOf(key, modifiers));
  const held = { altKey: modifiers.includes("Alt"), ctrlKey: modifiers.includes("Control"), metaKey: modifiers.includes("Meta"), shiftKey: modifiers.includes("Shift") };
  const fields = { key, code: codeOf(key), keyCode: keyCodeOf(key), which: keyCodeOf(key), ...held };
  const target = deepActiveElement() ?? document.body;
  if (dispatch(target, "keydown", fields)) {
    const isTyped = [...key].length === 1 || key === "Enter";
    const isCommand = held.ctrlKey || held.metaKey || held.altKey;
    const charCode = key === "Enter" ? 13 : (key.codePointAt(0) ?? 0);
    const focused = deepActiveElement() ?? target;
    if (!isTyped || isCommand || dispatch(focused, "keypress", { ...fields, charCode, keyCode: charCode, which: charCode })) keyDown(focused, key, held);
  }
  const current = deepActiveElement() ?? target;
  const released = isInPage(current) ? current : document.body;
  if (dispatch(released, "keyup", fields)) keyUp(released, key, held);
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

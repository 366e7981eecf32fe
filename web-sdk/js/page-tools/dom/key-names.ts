/** The names of keys: those of `KeyboardEvent.key`, and common alternatives. */

import { ActionError } from "../driver.ts";

/** Modifiers that are held with a key. */
export interface Held {
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}

export type Modifier = "Alt" | "Control" | "Meta" | "Shift";

/** The keys of a desktop keyboard that are not characters, as in "UI Events KeyboardEvent key Values". */
const KEYS = (
  "Alt AltGraph CapsLock Control Meta NumLock ScrollLock Shift Enter Tab ArrowDown ArrowLeft ArrowRight ArrowUp End Home PageDown PageUp " +
  "Backspace Clear Copy Cut Delete Insert Paste Undo ContextMenu Escape Find Help Pause PrintScreen Convert NonConvert KanaMode HangulMode HanjaMode " +
  "MediaPlayPause MediaStop MediaTrackNext MediaTrackPrevious AudioVolumeDown AudioVolumeMute AudioVolumeUp BrowserBack BrowserForward BrowserRefresh"
).split(" ");

/** Alternative names, in lower case. */
const ALIASES: Record<string, string> = {
  space: " ", spacebar: " ", return: "Enter", esc: "Escape", del: "Delete", ins: "Insert", up: "ArrowUp", down: "ArrowDown", left: "ArrowLeft", right: "ArrowRight",
  ctrl: "Control", controlormeta: "Control", cmd: "Meta", command: "Meta", win: "Meta", option: "Alt", pgup: "PageUp", pgdn: "PageDown",
};

/** Returns the fields of a key event that a modifier sets. */
export const heldOf = (modifiers: readonly Modifier[]): Held => ({
  altKey: modifiers.includes("Alt"), ctrlKey: modifiers.includes("Control"), metaKey: modifiers.includes("Meta"), shiftKey: modifiers.includes("Shift"),
});

const MODIFIERS: readonly string[] = ["Alt", "Control", "Meta", "Shift"];

/**
 * Returns the value of `KeyboardEvent.key` for the name of a key, and the held modifiers: those given, and those in a name
 * such as `Control+a`. Returns nothing if there is no such key.
 */
export function findKey(name: string, given: readonly Modifier[] = []): { key: string; modifiers: Modifier[] } | undefined {
  const [, before = "", last = name] = /^(.+)\+(.+|\+)$/s.exec(name) ?? [];
  const held = before ? before.split("+").map(nameOfKey) : [];
  const key = nameOfKey(last);
  if (key === undefined || !held.every((one) => one && MODIFIERS.includes(one))) return undefined;
  const modifiers = [...new Set([...given, ...(held as Modifier[])])];
  return { key: withCase(key, modifiers), modifiers };
}

/** Returns the key of a name. @throws ActionError if there is no such key. */
export function keyOf(name: string, given?: readonly Modifier[]): { key: string; modifiers: Modifier[] } {
  const key = findKey(name, given);
  if (key) return key;
  const advice = "give one character or a value of KeyboardEvent.key, such as Enter, Escape, Backspace or ArrowDown; set a text with setValue";
  throw new ActionError("ActionFailed", `${JSON.stringify(name)} is not a key: ${advice}`);
}

function nameOfKey(name: string): string | undefined {
  if ([...name].length === 1) return name;
  const folded = name.toLowerCase();
  // The names of `KeyboardEvent.code` are also accepted.
  const code = /^(?:key([a-z])|digit(\d))$/.exec(folded);
  if (code) return code[1] ?? code[2];
  if (/^f([1-9]|1\d|2[0-4])$/.test(folded)) return folded.toUpperCase();
  return Object.hasOwn(ALIASES, folded) ? ALIASES[folded] : KEYS.find((key) => key.toLowerCase() === folded);
}

/** With Shift, a letter is upper case. With a command such as `Control+A` and without Shift, it is lower case. */
function withCase(key: string, modifiers: readonly Modifier[]): string {
  if (!/^[a-z]$/i.test(key)) return key;
  return modifiers.includes("Shift") ? key.toUpperCase() : modifiers.length ? key.toLowerCase() : key;
}

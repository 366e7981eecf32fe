/** Texts of others, such as those of a model, for a person. */

import { INVISIBLE } from "./invisible.ts";

/**
 * Returns a text in which the invisible characters are shown, as `\u{202e}`. Line breaks, tabs, and what emojis and
 * joined letters consist of are unchanged.
 */
export const visibleText = (text: string): string =>
  text.replace(/\r\n/g, "\n").replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

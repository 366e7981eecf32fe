/** Shows texts of other parties, such as a model, to a person. */

import { INVISIBLE } from "./invisible.ts";

/**
 * Returns a text in which the invisible characters are shown, as `\u{202e}`. Line breaks, tabs, and the parts of emoji and
 * joined letters are unchanged.
 */
export const visibleText = (text: string): string =>
  text.replace(/\r\n/g, "\n").replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

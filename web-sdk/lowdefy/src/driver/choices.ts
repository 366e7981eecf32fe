/** The choices of selectors. */

import type { Block } from "../engine/engine-types.ts";
import { textOfHtml, textOfValue } from "./plain-text.ts";

/** One choice. */
export interface BlockChoice {
  value: unknown;
  label: string;
  isDisabled: boolean;
}

/** Returns the choices of a block, without duplicates of a value. */
export function choicesOf(block: Block): BlockChoice[] {
  const { options } = block.eval?.properties ?? {};
  if (!Array.isArray(options)) return [];
  const seen = new Set<string>();
  return options.map(choiceOf).filter(({ value }) => {
    const key = keyOf(value);
    return !seen.has(key) && seen.add(key);
  });
}

function choiceOf(option: unknown): BlockChoice {
  if (typeof option !== "object" || option === null || option instanceof Date) return { value: option, label: textOfValue(option), isDisabled: false };
  const { value, label, disabled } = option as { value?: unknown; label?: unknown; disabled?: unknown };
  return { value, label: typeof label === "string" ? textOfHtml(label) : textOfValue(label ?? value), isDisabled: disabled === true };
}

/** Returns the choice for a client's value: by its value, by its label, or by either as a text. */
export function findChoice(choices: readonly BlockChoice[], wanted: unknown): BlockChoice | undefined {
  const key = keyOf(wanted);
  const text = textOfValue(wanted);
  return (
    choices.find(({ value }) => keyOf(value) === key) ??
    choices.find(({ label }) => label === text) ??
    choices.find(({ value }) => textOfValue(value) === text)
  );
}

/** Returns the label of a value. */
export const labelOfValue = (choices: readonly BlockChoice[], value: unknown): string => choices.find((choice) => keyOf(choice.value) === keyOf(value))?.label ?? textOfValue(value);

export const keyOf = (value: unknown): string => (value instanceof Date ? `date ${value.getTime()}` : (JSON.stringify(value) ?? "undefined"));

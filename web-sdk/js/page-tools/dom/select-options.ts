/** The options of a `select`, without those that the page keeps from AI clients. */

import { closest } from "./native.ts";
import { hasPrivateInside } from "./private-content.ts";

/** More options than a text shows are of no use. */
const MAX_OPTIONS = 100;

export const labelOfOption = (option: HTMLOptionElement): string => option.label || option.text;

/** Returns the options that are not private, by themselves, by their group or by something in them. */
export const publicOptions = (options: Iterable<HTMLOptionElement>): HTMLOptionElement[] => [...options].filter((option) => !closest(option, "[data-mcp-private], [data-mcp-person]") && !hasPrivateInside(option));

/** Returns the values and labels that a page shows of a `select`. */
export const listOptions = ({ options }: HTMLSelectElement): { value: string; label: string }[] =>
  publicOptions(options).slice(0, MAX_OPTIONS).map((option) => ({ value: option.value, label: labelOfOption(option) }));

/** The options of a `select`, without those that the page hides from AI clients. */

import { closest } from "./native.ts";
import { hasPrivateInside } from "./private-content.ts";

/** Maximum number of options, because more are useless in a text. */
const MAX_OPTIONS = 100;

export const labelOfOption = (option: HTMLOptionElement): string => option.label || option.text;

/** Returns the options that are not private because of themselves, their group or their content. */
export const publicOptions = (options: Iterable<HTMLOptionElement>): HTMLOptionElement[] => [...options].filter((option) => !closest(option, "[data-mcp-private], [data-mcp-person]") && !hasPrivateInside(option));

/** Returns the displayed values and labels of a `select`. */
export const listOptions = ({ options }: HTMLSelectElement): { value: string; label: string }[] =>
  publicOptions(options).slice(0, MAX_OPTIONS).map((option) => ({ value: option.value, label: labelOfOption(option) }));

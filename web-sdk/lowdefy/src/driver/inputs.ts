/** The types of blocks with a value: their roles, their values as text, and the conversion of a client's value. */

import { ActionError } from "mcp-web-sdk/page-driver";

import type { Block } from "../engine/engine-types.ts";
import { type BlockChoice, choicesOf, findChoice, labelOfValue } from "./choices.ts";
import { textOfValue } from "./plain-text.ts";

/** The behaviour of a type of inputs. */
export interface InputKind {
  role: string;
  /** Returns the value as text, or as texts if it is a list. */
  text(block: Block): string | string[] | undefined;
  /** Converts a client's value. @throws ActionError if it cannot be the value of this block. */
  parse(value: unknown, block: Block): unknown;
  /** Whether its value must be one of its choices. */
  hasChoices?: boolean;
  /** Whether the value is a boolean, shown as `checked`. */
  isSwitch?: boolean;
}

const text: InputKind = {
  role: "textbox",
  text: ({ value }) => textOfValue(value),
  // Like an input element, which has no lines.
  parse: (value, block) => replaced(cut(asText(value).replace(/[\r\n]+/g, ""), block), block) || null,
};

const lines: InputKind = { ...text, parse: (value, block) => cut(asText(value).replace(/\r\n?/g, "\n"), block) || null };

const password: InputKind = { ...text, text: ({ value }) => (value ? "(hidden)" : "") };

const number: InputKind = {
  role: "spinbutton",
  text: ({ value }) => textOfValue(value),
  parse(value, block) {
    if (value === null || value === "") return null;
    const given = typeof value === "string" && /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(value) ? Number(value) : value;
    if (typeof given !== "number" || !Number.isFinite(given)) throw unfit(block, value, "a number");
    const { min, max, precision } = block.eval?.properties ?? {};
    const number = typeof precision === "number" && precision >= 0 && precision <= 20 ? Number(given.toFixed(precision)) : given;
    // Like the control, which takes the nearest allowed number.
    const least = typeof min === "number" ? Math.max(number, min) : number;
    return typeof max === "number" ? Math.min(least, max) : least;
  },
};

const truth = (role: string): InputKind => ({
  role,
  text: () => undefined,
  isSwitch: true,
  parse(value, block) {
    if (typeof value === "boolean") return value;
    if (value === "true" || value === "on") return true;
    if (value === "false" || value === "off" || value === null || value === "") return false;
    throw unfit(block, value, "true or false");
  },
});

const one = (role: string): InputKind => ({
  role,
  hasChoices: true,
  text: (block) => (block.value === null || block.value === undefined ? "" : labelOfValue(choicesOf(block), block.value)),
  parse: (value, block) => (value === null || value === "" ? null : choose(block, choicesOf(block), value).value),
});

const several = (role: string): InputKind => ({
  role,
  hasChoices: true,
  text: (block) => listOf(block.value).map((value) => labelOfValue(choicesOf(block), value)),
  parse(value, block) {
    const choices = choicesOf(block);
    const wanted = Array.isArray(value) ? value : value === null || value === "" ? [] : [value];
    return wanted.map((item) => choose(block, choices, item).value);
  },
});

const date = (unit: "day" | "week" | "month" | "minute"): InputKind => ({
  role: "textbox",
  text: ({ value }) => dateText(value, unit),
  parse: (value, block) => (value === null || value === "" ? null : parseDate(value, block, unit)),
});

const dates: InputKind = {
  role: "group",
  text: ({ value }) => listOf(value).map((value) => dateText(value, "day")),
  parse(value, block) {
    if (value === null || value === "" || (Array.isArray(value) && !value.length)) return null;
    if (!Array.isArray(value) || value.length !== 2) throw unfit(block, value, "a list of two dates");
    return value.map((item) => parseDate(item, block, "day"));
  },
};

const rating: InputKind = {
  ...number,
  role: "slider",
  parse(value, block) {
    const { notApplicableLabel } = block.eval?.properties ?? {};
    return value === (notApplicableLabel ?? "N/A") ? value : number.parse(value, block);
  },
};

const phone: InputKind = {
  role: "textbox",
  text: ({ value }) => textOfValue((value as { input?: unknown } | null)?.input),
  parse(value, block) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
    const { region } = (block.value ?? {}) as { region?: { dial_code?: string } };
    const input = asText(value).replace(/[^\d]/g, "");
    return { input, region, phone_number: `${region?.dial_code ?? ""}${input}` };
  },
};

const page: InputKind = {
  role: "spinbutton",
  text: ({ value }) => textOfValue((value as { current?: unknown } | null)?.current),
  parse(value, block) {
    const current = number.parse(value, block) as number | null;
    const { pageSize = 10 } = (block.value ?? {}) as { pageSize?: number };
    if (!current || current < 1 || !Number.isInteger(current)) throw unfit(block, value, "the number of a page, from 1");
    return { current, pageSize, skip: (current - 1) * pageSize };
  },
};

const any: InputKind = {
  role: "textbox",
  text: ({ value }) => textOfValue(value),
  parse: (value) => value,
};

const KINDS: Record<string, InputKind> = {
  AutoComplete: { ...text, role: "combobox" },
  ButtonSelector: one("radiogroup"),
  CheckboxSelector: several("group"),
  CheckboxSwitch: truth("checkbox"),
  ColorSelector: text,
  DateRangeSelector: dates,
  DateSelector: date("day"),
  DateTimeSelector: date("minute"),
  MonthSelector: date("month"),
  MultipleSelector: several("combobox"),
  NumberInput: number,
  Pagination: page,
  ParagraphInput: lines,
  PasswordInput: password,
  PhoneNumberInput: phone,
  RadioSelector: one("radiogroup"),
  RatingSlider: rating,
  Selector: one("combobox"),
  Switch: truth("switch"),
  TextArea: lines,
  TextInput: text,
  TitleInput: text,
  WeekSelector: date("week"),
};

/** Returns the behaviour of a block's value; for an unknown type, it is derived from the description of its values. */
export function inputKind(block: Block): InputKind {
  const known = KINDS[block.type];
  if (known) return known;
  switch (block.meta.valueType) {
    case "boolean":
      return truth("checkbox");
    case "number":
      return number;
    case "date":
      return date("minute");
    case "string":
      return lines;
    default:
      return any;
  }
}

/** The types of blocks with rules of this host. */
export const KNOWN_INPUTS: readonly string[] = Object.keys(KINDS);

export const isPassword = (block: Block): boolean => block.type === "PasswordInput";

function choose(block: Block, choices: readonly BlockChoice[], wanted: unknown): BlockChoice {
  const choice = findChoice(choices, wanted);
  const known = choices.slice(0, 20).map(({ label }) => JSON.stringify(label));
  if (!choice) throw new ActionError("OptionNotFound", `${block.blockId} has no option ${short(wanted)}: ${known.join(", ") || "it has none"}`);
  if (choice.isDisabled) throw new ActionError("TargetDisabled", `the option ${short(wanted)} of ${block.blockId} is disabled`);
  return choice;
}

function parseDate(value: unknown, block: Block, unit: "day" | "week" | "month" | "minute"): Date {
  const written = typeof value === "string" && /^\d{4}-\d{2}(-\d{2})?([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(value) ? value.replace(" ", "T") : "";
  // A time without a zone is in UTC, like the days.
  const time = Date.parse(written.includes("T") && !/(Z|[+-]\d{2}:?\d{2})$/.test(written) ? `${written}Z` : written);
  if (Number.isNaN(time)) throw unfit(block, value, unit === "minute" ? "a time such as 2026-03-04T13:45" : "a date such as 2026-03-04");
  const date = new Date(time);
  if (unit === "minute") date.setUTCSeconds(0, 0);
  else date.setUTCHours(0, 0, 0, 0);
  if (unit === "month") date.setUTCDate(1);
  if (unit === "week") date.setUTCDate(date.getUTCDate() - date.getUTCDay());
  return date;
}

function dateText(value: unknown, unit: string): string {
  if (!(value instanceof Date)) return textOfValue(value);
  const iso = textOfValue(value);
  return unit === "minute" ? iso.slice(0, 16) : unit === "month" ? iso.slice(0, 7) : iso.slice(0, 10);
}

function asText(value: unknown): string {
  return textOfValue(value);
}

/** Cuts a text like a control with a limit, which accepts no more characters. */
function cut(written: string, block: Block): string {
  const { maxLength } = block.eval?.properties ?? {};
  return typeof maxLength === "number" && maxLength >= 0 ? written.slice(0, maxLength) : written;
}

/** Replaces characters like `TextInput` with the property `replaceInput`. */
function replaced(written: string, block: Block): string {
  const { replaceInput } = (block.eval?.properties ?? {}) as { replaceInput?: { pattern?: unknown; flags?: unknown; replacement?: unknown } };
  if (typeof replaceInput?.pattern !== "string") return written;
  const { pattern, flags, replacement } = replaceInput;
  return written.replace(new RegExp(pattern, typeof flags === "string" ? flags : "gm"), typeof replacement === "string" ? replacement : "");
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const short = (value: unknown): string => (JSON.stringify(value) ?? "undefined").slice(0, 100);

const unfit = (block: Block, value: unknown, wanted: string): ActionError => new ActionError("ValueRefused", `${block.blockId} takes ${wanted}, not ${short(value)}`);

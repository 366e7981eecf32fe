/** Describes errors of a value for the person who typed it. */

import type { FieldSchema } from "./schema.ts";
import type { CompleteDialogStrings } from "./strings.ts";

const EXAMPLES: { [format: string]: [RegExp, string] } = {
  email: [/^[^\s@]+@[^\s@]+$/, "name@example.com"],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "https://example.com"],
  date: [/^\d{4}-\d\d-\d\d$/, "2026-12-31"],
};

/** Returns the error of the value, if any. A value that the browser cannot parse is `NaN`. */
export function validateField(schema: FieldSchema, value: unknown, isRequired: boolean, strings: CompleteDialogStrings): string | undefined {
  if (Array.isArray(value)) return validateChoices(schema, value, strings);
  if (value === undefined) return isRequired ? missingText(schema, strings) : undefined;
  if (schema.type === "number" || schema.type === "integer") return validateNumber(schema, value as number, strings);
  if (Number.isNaN(value)) return strings.incomplete;
  if (typeof value === "string" && !schema.enum && !schema.oneOf) return validateText(schema, value, strings);
  return undefined;
}

function missingText({ enum: values, oneOf }: FieldSchema, strings: CompleteDialogStrings): string {
  return values || oneOf ? strings.missingChoice : strings.missing;
}

function validateChoices({ minItems = 0, maxItems = Infinity }: FieldSchema, { length }: unknown[], strings: CompleteDialogStrings) {
  if (length < minItems) return strings.tooFewChoices(minItems);
  return length > maxItems ? strings.tooManyChoices(maxItems) : undefined;
}

function validateNumber({ type, minimum = -Infinity, maximum = Infinity }: FieldSchema, value: number, strings: CompleteDialogStrings) {
  if (Number.isNaN(value)) return strings.notANumber;
  if (type === "integer" && !Number.isInteger(value)) return strings.notAnInteger;
  if (value < minimum) return strings.tooSmall(minimum);
  return value > maximum ? strings.tooLarge(maximum) : undefined;
}

function validateText({ minLength = 0, maxLength = Infinity, pattern, format = "" }: FieldSchema, text: string, strings: CompleteDialogStrings) {
  // JSON Schema counts characters, not UTF-16 units.
  const { length } = [...text];
  if (length < minLength) return strings.tooShort(minLength);
  if (length > maxLength) return strings.tooLong(maxLength, length);
  const [form, example] = EXAMPLES[format] ?? [];
  if (form && !form.test(text)) return strings.wrongFormat(example!);
  if (pattern && !matches(pattern, text)) return strings.wrongPattern;
  return undefined;
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}

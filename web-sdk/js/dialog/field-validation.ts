/** What is wrong with a value, in words for the person who typed it. */

const EXAMPLES = {
  email: [/^[^\s@]+@[^\s@]+$/, "name@example.com"],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "https://example.com"],
  date: [/^\d{4}-\d\d-\d\d$/, "2026-12-31"],
};

export function fault(schema, value, required) {
  if (Array.isArray(value)) return faultOfChoices(schema, value);
  if (value === undefined) return required ? missing(schema) : undefined;
  if (schema.type === "number" || schema.type === "integer") return faultOfNumber(schema, value);
  if (Number.isNaN(value)) return "Please complete this.";
  if (typeof value === "string" && !schema.enum && !schema.oneOf) return faultOfText(schema, value);
  return undefined;
}

function missing({ enum: values, oneOf }) {
  return values || oneOf ? "Please choose one." : "Please fill this in.";
}

function faultOfChoices({ minItems = 0, maxItems = Infinity }, { length }) {
  if (length < minItems) return `Please choose at least ${minItems}.`;
  return length > maxItems ? `Please choose at most ${maxItems}.` : undefined;
}

function faultOfNumber({ type, minimum = -Infinity, maximum = Infinity }, value) {
  if (Number.isNaN(value)) return "Please enter a number.";
  if (type === "integer" && !Number.isInteger(value)) return "Please enter a whole number.";
  if (value < minimum) return `Please enter ${minimum} or more.`;
  return value > maximum ? `Please enter ${maximum} or less.` : undefined;
}

function faultOfText({ minLength = 0, maxLength = Infinity, pattern, format }, text) {
  // JSON Schema counts characters, not UTF-16 units.
  const { length } = [...text];
  if (length < minLength) return `Please enter at least ${minLength} characters.`;
  if (length > maxLength) return `Please enter at most ${maxLength} characters: these are ${length}.`;
  const [form, example] = EXAMPLES[format] ?? [];
  if (form && !form.test(text)) return `Please enter something like ${example}.`;
  if (pattern && !matches(pattern, text)) return "Please enter it in the form that is asked for.";
  return undefined;
}

function matches(pattern, text) {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}

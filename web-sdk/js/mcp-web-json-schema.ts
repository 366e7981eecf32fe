/** Validates values against plain JSON Schema, for definitions whose schema is of no library. Loaded later. */

import { type Schema, Validator } from "@cfworker/json-schema";

/** What is wrong with a value. */
export interface SchemaViolation {
  /** A JSON pointer to the value; `""` is the whole. */
  path: string;
  message: string;
}

const validators = new WeakMap<object, Validator>();

/** Returns what is wrong with a value, the deepest first. An empty list means that it is valid. */
export function validateJsonSchema(schema: object, value: unknown): SchemaViolation[] {
  let validator = validators.get(schema);
  // The validator writes into the schema, which is not ours.
  if (!validator) validators.set(schema, (validator = new Validator(structuredClone(schema) as Schema, "2020-12", false)));
  const { errors } = validator.validate(value);
  // The parents of a wrong value are reported, too, with nothing to say of their own.
  const own = errors.filter(({ keyword }) => !PARENT_KEYWORDS.has(keyword));
  return (own.length ? own : errors).map(({ instanceLocation, error }) => ({
    path: instanceLocation.replace(/^#/, ""),
    message: error,
  }));
}

/** The keywords that are violated because a value below is wrong. */
const PARENT_KEYWORDS = new Set(["properties", "items", "prefixItems", "additionalProperties", "$ref", "allOf", "anyOf"]);

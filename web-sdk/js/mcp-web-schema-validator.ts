/** Validates values against plain JSON Schema, for definitions whose schema is not from a library. Loaded later. */

import { type Schema, Validator } from "@cfworker/json-schema";

/** A violation of a schema by a value. */
export interface SchemaViolation {
  /** A JSON pointer to the value; `""` is the whole value. */
  path: string;
  message: string;
}

const validators = new WeakMap<object, Validator>();

/** Returns the violations of a value, the deepest first. An empty list means that the value is valid. */
export function validateJsonSchema(schema: object, value: unknown): SchemaViolation[] {
  let validator = validators.get(schema);
  // The validator writes into the schema, which belongs to the app.
  if (!validator) validators.set(schema, (validator = new Validator(structuredClone(schema) as Schema, "2020-12", false)));
  const { errors } = validator.validate(value);
  // The parents of an invalid value are also reported, without their own reason.
  const own = errors.filter(({ keyword }) => !PARENT_KEYWORDS.has(keyword));
  return (own.length ? own : errors).map(({ instanceLocation, error }) => ({
    path: instanceLocation.replace(/^#/, ""),
    message: error,
  }));
}

/** The keywords that are violated because a nested value is invalid. */
const PARENT_KEYWORDS = new Set(["properties", "items", "prefixItems", "additionalProperties", "$ref", "allOf", "anyOf"]);

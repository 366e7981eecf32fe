/** Schemas of libraries that implement Standard Schema and Standard JSON Schema (https://standardschema.dev). */

import type { McpWebErrorCode } from "../types/error-codes.ts";
import { McpWebError } from "./error.ts";
import { isPlainObject } from "./type-guards.ts";

/** A validation error of a value. */
interface Issue {
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[];
}

/** The field `~standard` of a schema. */
interface StandardProps {
  validate(value: unknown): StandardResult | Promise<StandardResult>;
  jsonSchema?: { [side in "input" | "output"]: (options: { target: string }) => object };
}

type StandardResult = { value?: unknown; issues?: readonly Issue[] };

const standardOf = (schema: unknown) => (schema as { "~standard"?: StandardProps } | undefined)?.["~standard"];

/**
 * Returns the JSON Schema of a schema, if it has one. A schema that a library has converted to JSON Schema may also have a
 * non-enumerable field `~standard`. It is published unchanged.
 */
export function toJsonSchema(schema: unknown, side: "input" | "output"): unknown {
  if (isPlainObject(schema) && !Object.keys(schema).includes("~standard")) return schema;
  return standardOf(schema)?.jsonSchema?.[side]({ target: "draft-2020-12" });
}

/**
 * Returns the value as transformed by the schema's library, for example with defaults. Plain JSON Schema does not change
 * it.
 */
export async function parseWith(schema: unknown, value: unknown, code: McpWebErrorCode, subject: string): Promise<unknown> {
  const result = await standardOf(schema)?.validate(value);
  if (!result?.issues) return result ? result.value : value;
  const texts = result.issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => (part as { key?: PropertyKey }).key ?? part);
    return `/${keys.join("/")}: ${message}`;
  });
  throw new McpWebError(code, `${subject}: ${texts.join("; ")}`);
}

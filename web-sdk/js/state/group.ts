/** Joins several values of an app into one state. */

import type { InferInput, JsonSchema, StandardSchema, ToolSchema } from "../types/infer.ts";
import { getIn, isSame } from "./values.ts";
import { encodePointerPart, isStandardSchema, readStateSchema } from "./markers.ts";

/** A value of an app: its getter, its setter, and its schema. */
export type GroupMember<Schema extends ToolSchema = any> = readonly [
  get: () => InferInput<Schema> | Promise<InferInput<Schema>>,
  set: (value: InferInput<Schema>) => unknown,
  schema: Schema,
];

/** The values of a group, by the schemas of its members. */
export type GroupState<Schemas> = { [Name in keyof Schemas]?: InferInput<Schemas[Name]> };

/** The result of {@link groupState}: options of `addStateTools`. */
export interface Group<Schemas> {
  /** The schema of an object with all values, each of them optional. */
  schema: StandardSchema<GroupState<Schemas>, GroupState<Schemas>>;
  /** Reads all values. */
  get(): Promise<GroupState<Schemas>>;
  /** Sets only the values that are not `undefined`. */
  set(values: GroupState<Schemas>): Promise<void>;
}

/**
 * Joins values that an app stores separately, such as atoms, into one state for `addStateTools`.
 *
 * @example
 * ```ts
 * const settings = groupState({
 *   theme: [getTheme, setTheme, z.enum(["light", "dark"])],
 *   volume: [getVolume, setVolume, z.number().min(0).max(1)],
 * });
 * addStateTools(mcpWeb, { name: "settings", description: "The settings", ...settings });
 * ```
 */
export function groupState<const Schemas extends { readonly [name: string]: ToolSchema }>(members: {
  readonly [Name in keyof Schemas]: GroupMember<Schemas[Name]>;
}): Group<Schemas> {
  const entries = Object.entries<GroupMember>(members);
  const describe = (side: "input" | "output"): JsonSchema => ({
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, [, , schema]]) => {
        const sides = readStateSchema(schema);
        return [name, relocate(sides[side] ?? {}, `#/properties/${encodePointerPart(name)}`)];
      }),
    ),
  });
  const standard = { version: 1, vendor: "mcp-web", validate, jsonSchema: { input: () => describe("input"), output: () => describe("output") } };

  async function validate(values: unknown): Promise<unknown> {
    if (typeof values !== "object" || values === null || Array.isArray(values)) {
      return { issues: [{ message: "Expected an object" }] };
    }
    const results = await Promise.all(entries.map(([name, [, , schema]]) => validateMember(name, schema, getIn(values, [name]))));
    const issues = results.flatMap((result) => result.issues ?? []);
    if (issues.length) return { issues };
    return { value: Object.fromEntries(results.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value])) };
  }

  return {
    schema: { "~standard": standard } as unknown as Group<Schemas>["schema"],
    async get() {
      const values = await Promise.all(entries.map(async ([name, [get]]) => [name, await get()]));
      return Object.fromEntries(values) as GroupState<Schemas>;
    },
    async set(values) {
      for (const [name, [get, set]] of entries) {
        const value = getIn(values, [name]);
        // A divided state is set as a whole, so values that a call has not changed are unchanged since the read.
        if (value !== undefined && !isSame(value, await get())) await set(value);
      }
    },
  };
}

/** Validates one value. A missing one is left out. */
async function validateMember(name: string, given: object, value: unknown) {
  if (value === undefined) return { name };
  const { validator } = readStateSchema(given);
  if (!isStandardSchema(validator)) {
    const { validateJsonSchema } = await import("../mcp-web-schema-validator.ts");
    const issues = validateJsonSchema(validator, value).map(({ path, message }) => ({ message, path: [name, ...path.split("/").slice(1)] }));
    return issues.length ? { name, issues } : { name, value };
  }
  const result = (await validator["~standard"].validate(value)) as { value: unknown; issues?: { message: string; path?: PropertyKey[] }[] };
  const issues = result.issues?.map(({ message, path = [] }) => ({ message, path: [name, ...path] }));
  return issues ? { name, issues } : { name, value: result.value };
}

/** Returns a schema after moving it into another one, with adapted references. */
function relocate(schema: unknown, place: string): unknown {
  if (Array.isArray(schema)) return schema.map((inner) => relocate(inner, place));
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([keyword, value]) => !(keyword === "$schema" && typeof value === "string"));
  return Object.fromEntries(
    entries.map(([keyword, value]) => {
      const isReference = keyword === "$ref" && typeof value === "string" && /^#(\/|$)/.test(value);
      return [keyword, isReference ? place + value.slice(1) : relocate(value, place)];
    }),
  );
}

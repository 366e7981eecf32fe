/** What a schema says of fields beyond their types: which one identifies an item, and which ones the app sets itself. */

import type { JsonSchema, StandardSchema } from "../types/infer.ts";
import { toJsonSchema } from "../mcp-web/schemas.ts";
import { isPlainObject } from "../mcp-web/type-guards.ts";

/** The keywords of JSON Schema that carry the marks. They are not published. */
export const ID_KEYWORD = "x-mcp-web-id";
export const SYSTEM_KEYWORD = "x-mcp-web-system";
/** Marks a field that the library fills in when it is left out, for libraries that do not publish the default. */
export const FILLED_KEYWORD = "x-mcp-web-filled";

/** What Zod's schemas have. */
interface ZodSchema {
  meta?(metadata: object): unknown;
  clone(): object;
}

interface ZodRegistry {
  add(schema: object, metadata: object): void;
}

/**
 * Marks the field that identifies an item of a list, for schemas of Zod. The tools of the list then take an `id` of the
 * field's type instead of an `index`. Other libraries name such fields with {@link state}.
 *
 * @returns a schema with the mark. The given one stays as it is, so that it can be used elsewhere without it.
 *
 * @example
 * ```ts
 * const Todo = z.object({ id: id(system(z.string().default(() => crypto.randomUUID()))), value: z.string() });
 * ```
 */
export function id<Schema extends object>(schema: Schema): Schema {
  return mark(schema, ID_KEYWORD);
}

/**
 * Marks a field that the app fills in itself, for schemas of Zod: clients see it and cannot set it. It needs a default.
 * Other libraries name such fields with {@link state}.
 *
 * @returns a schema with the mark. The given one stays as it is.
 */
export function system<Schema extends object>(schema: Schema): Schema {
  return mark(schema, SYSTEM_KEYWORD);
}

function mark<Schema extends object>(schema: Schema, keyword: string): Schema {
  const zod = schema as unknown as ZodSchema;
  if (typeof zod.meta === "function") return zod.meta({ [keyword]: true }) as Schema;
  const registry = (globalThis as { __zod_globalRegistry?: ZodRegistry }).__zod_globalRegistry;
  if (!registry || !("_zod" in schema)) {
    throw new TypeError("id() and system() mark schemas of Zod 4.2 or later: name the fields of others with state(schema, { ids, system })");
  }
  const marked = zod.clone() as Schema & { _zod: { parent?: object } };
  // What was known of the schema is known of its copy.
  marked._zod.parent = schema;
  registry.add(marked, { [keyword]: true });
  return marked;
}

/** Which fields of a state are marked, by their paths: `todos[].id` for items of a list, `projects{}.id` for values of a record. */
export interface StateMarks {
  /** The fields that identify items: see {@link id}. */
  ids?: readonly string[];
  /** The fields that the app fills in itself: see {@link system}. */
  system?: readonly string[];
  /** The JSON Schema, for a schema whose library does not convert it, such as Zod Mini. */
  jsonSchema?: object;
}

/** A schema of any library, with its marks. */
export interface MarkedSchema<Schema> {
  /** The schema. */
  readonly schema: Schema;
  /** Its marks. */
  readonly marks: StateMarks;
}

const marked = new WeakSet<object>();

/**
 * Marks fields of a state by their paths, for schemas of every library and plain JSON Schema.
 *
 * @example
 * ```ts
 * const Board = state(boardSchema, { ids: ["cards[].key"], system: ["cards[].createdAt"] });
 * addStateTools(mcpWeb, { name: "board", description: "The board", schema: Board, get, set });
 * ```
 */
export function state<const Schema extends object>(schema: Schema, marks: StateMarks): MarkedSchema<Schema> {
  const result: MarkedSchema<Schema> = { schema, marks };
  marked.add(result);
  return result;
}

/** What a state's schema is, once the marks are in it. */
export interface StateSchema {
  /** The schema that validates, as its library has it. */
  readonly validator: object;
  /** What clients send, with the marks. */
  readonly input: JsonSchema;
  /** What the state looks like. */
  readonly output: JsonSchema | undefined;
}

/** Returns what a schema, marked or not, describes. */
export function readStateSchema(given: unknown): StateSchema {
  const isMarked = typeof given === "object" && given !== null && marked.has(given);
  const { schema, marks } = isMarked ? (given as MarkedSchema<object>) : { schema: given as object, marks: {} as StateMarks };
  const input = marks.jsonSchema ?? toJsonSchema(schema, "input");
  if (!isPlainObject(input)) {
    throw new TypeError(
      "schema must be JSON Schema, or a schema that has one: of Zod 4.2 or later, ArkType, Valibot's toStandardJsonSchema(), " +
        "or another one with state(schema, { jsonSchema })",
    );
  }
  const root = structuredClone(input) as { [keyword: string]: unknown };
  for (const path of marks.ids ?? []) markPath(root, path, ID_KEYWORD);
  for (const path of marks.system ?? []) markPath(root, path, SYSTEM_KEYWORD);
  const output = outputSide(schema, marks);
  if (output) markFilled(root, output);
  return { validator: schema, input: root, output };
}

/** Marks the fields that a client may leave out and that the state has nevertheless. */
function markFilled(input: { [keyword: string]: any }, output: JsonSchema): void {
  const required: unknown = output.required;
  for (const [name, field] of Object.entries<any>(input.properties ?? {})) {
    const made = (output.properties as { [name: string]: JsonSchema } | undefined)?.[name];
    if (!isPlainObject(field) || !isPlainObject(made)) continue;
    const isOptional = !(input.required ?? []).includes(name);
    if (isOptional && Array.isArray(required) && required.includes(name)) field[FILLED_KEYWORD] = true;
    markFilled(field, made);
  }
  for (const keyword of ["items", "additionalProperties"]) {
    if (isPlainObject(input[keyword]) && isPlainObject(output[keyword])) markFilled(input[keyword], output[keyword]);
  }
}

function outputSide(schema: object, { jsonSchema }: StateMarks): JsonSchema | undefined {
  if (jsonSchema) return undefined;
  try {
    return toJsonSchema(schema, "output") as JsonSchema | undefined;
  } catch {
    // A transform has no JSON Schema: what the getter answers is not described.
    return undefined;
  }
}

/** Returns whether a schema validates by itself. Plain JSON Schema does not. */
export const isStandardSchema = (schema: object): schema is StandardSchema =>
  typeof (schema as Partial<StandardSchema>)["~standard"]?.validate === "function";

/** Marks one field in a schema of its own. */
function markPath(root: { [keyword: string]: any }, path: string, keyword: string): void {
  const fail = () => new TypeError(`state(): the schema has no field "${path}"`);
  let schema: { [keyword: string]: any } = root;
  for (const segment of path.split(".")) {
    const [, name, suffix = ""] = /^([^[\]{}]+)?((?:\[\]|\{\})*)$/.exec(segment) ?? [];
    if (name === undefined && !suffix) throw fail();
    if (name !== undefined) schema = own(objectOf(schema, root).properties, name, fail);
    for (const [kind] of suffix.matchAll(/\[\]|\{\}/g)) {
      const parent = objectOf(schema, root);
      const key = kind === "[]" ? "items" : "additionalProperties";
      schema = own(parent, key, fail);
    }
  }
  schema[keyword] = true;
}

/** Returns a property that is a schema, as a copy that only this place uses. */
function own(parent: { [key: string]: any } | undefined, key: string, fail: () => TypeError): { [keyword: string]: any } {
  const value = parent?.[key];
  if (!isPlainObject(value)) throw fail();
  return (parent![key] = { ...value });
}

/** Returns the schema of an object, list or record below references and `null`, all of them copied into this place. */
function objectOf(schema: { [keyword: string]: any }, root: { [keyword: string]: any }): { [keyword: string]: any } {
  if (typeof schema.$ref === "string") {
    const target = schema.$ref.split("/").slice(1).reduce<any>((value, part) => value?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    if (!isPlainObject(target)) return schema;
    delete schema.$ref;
    Object.assign(schema, structuredClone(target));
  }
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    const branches: unknown = schema[keyword];
    if (!Array.isArray(branches)) continue;
    const index = branches.findIndex((branch) => isPlainObject(branch) && branch.type !== "null");
    if (index >= 0) {
      branches[index] = { ...branches[index] };
      return objectOf(branches[index], root);
    }
  }
  if (schema.properties) schema.properties = { ...schema.properties };
  return schema;
}

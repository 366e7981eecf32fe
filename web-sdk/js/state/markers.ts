/** Marks of fields beyond their types: which one identifies an item, and which ones the app sets itself. */

import type { JsonSchema, StandardSchema } from "../types/infer.ts";
import { toJsonSchema } from "../mcp-web/schemas.ts";
import { isPlainObject } from "../mcp-web/type-guards.ts";

/** The keywords of JSON Schema that carry the marks. They are not published. */
export const ID_KEYWORD = "x-mcp-web-id";
export const SYSTEM_KEYWORD = "x-mcp-web-system";
/** Marks a field that the library fills in if it is missing, for libraries that do not publish the default. */
export const FILLED_KEYWORD = "x-mcp-web-filled";

/** The fields of Zod's schemas. */
interface ZodSchema {
  meta?(metadata: object): unknown;
  clone(): object;
}

interface ZodRegistry {
  add(schema: object, metadata: object): void;
}

/**
 * Marks the field that identifies an item of a list, for schemas of Zod. The tools of the list then have a parameter `id`
 * of the field's type instead of `index`. For other libraries, mark such fields with {@link state}.
 *
 * @returns a schema with the mark. The given one stays unchanged, so that it can be used elsewhere without the mark.
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
 * Marks a field that the app fills in itself, for schemas of Zod: clients can see it but not set it. It needs a default.
 * For other libraries, mark such fields with {@link state}.
 *
 * @returns a schema with the mark. The given one stays unchanged.
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
  // The metadata of the schema also applies to its copy.
  marked._zod.parent = schema;
  registry.add(marked, { [keyword]: true });
  return marked;
}

/**
 * The marked fields of a state, by their paths: `todos[].id` for items of a list, `projects{}.id` for values of a record.
 */
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

/** The schema of a state, including the marks. */
export interface StateSchema {
  /** The schema that validates, as its library created it. */
  readonly validator: object;
  /** The schema of clients' values, with the marks. */
  readonly input: JsonSchema;
  /** The schema of the state's values. */
  readonly output: JsonSchema | undefined;
}

/** Returns the schemas that a schema, marked or not, describes. */
export function readStateSchema(given: unknown): StateSchema {
  const { schema, marks } = unwrap(given);
  const input = marks.jsonSchema ?? convert(schema, "input");
  if (!isPlainObject(input)) {
    throw new TypeError(
      "schema must be JSON Schema, or a schema that has one: of Zod 4.2 or later, ArkType, Valibot's toStandardJsonSchema(), " +
        "or another one with state(schema, { jsonSchema })",
    );
  }
  const root = withPointers(structuredClone(input));
  if (!marks.jsonSchema) removeGeneratedDefaults(root, convert(schema, "input"));
  for (const path of marks.ids ?? []) markPath(root, path, ID_KEYWORD);
  for (const path of marks.system ?? []) markPath(root, path, SYSTEM_KEYWORD);
  const output = outputSide(schema, marks);
  if (output) markFilled(root, output);
  return { validator: schema, input: root, output };
}

/** Returns the schema that was marked, once or several times, and all its marks. */
function unwrap(given: unknown): MarkedSchema<object> {
  let schema = given;
  const marks: { ids: string[]; system: string[]; jsonSchema?: object } = { ids: [], system: [] };
  while (typeof schema === "object" && schema !== null && marked.has(schema)) {
    const outer = schema as MarkedSchema<object>;
    marks.ids.push(...(outer.marks.ids ?? []));
    marks.system.push(...(outer.marks.system ?? []));
    if (outer.marks.jsonSchema) marks.jsonSchema = outer.marks.jsonSchema;
    schema = outer.schema;
  }
  return { schema: schema as object, marks };
}

function convert(schema: object, side: "input" | "output"): unknown {
  try {
    return toJsonSchema(schema, side);
  } catch (cause) {
    throw new TypeError(`the schema has no JSON Schema: ${(cause as Error).message}`, { cause });
  }
}

/** Removes defaults that differ each time, such as new ids, and marks their fields as filled in. */
function removeGeneratedDefaults(schema: { [keyword: string]: any }, again: unknown): void {
  if (!isPlainObject(again)) return;
  for (const [keyword, value] of Object.entries(schema)) {
    const other = again[keyword];
    if (keyword === "default" && typeof value !== "object" && value !== other) {
      delete schema.default;
      schema[FILLED_KEYWORD] = true;
    } else if (Array.isArray(value) && Array.isArray(other)) {
      value.forEach((inner, index) => isPlainObject(inner) && removeGeneratedDefaults(inner, other[index]));
    } else if (isPlainObject(value)) removeGeneratedDefaults(value, other);
  }
}

/**
 * Returns a schema whose references are JSON pointers, and whose tuples are those of JSON Schema 2020-12. Identifiers of
 * schemas have no meaning in the parameters of a tool.
 */
function withPointers(root: { [keyword: string]: any }): { [keyword: string]: any } {
  const pointers = new Map<string, string>();
  const visit = (value: unknown, pointer: string, change: (schema: { [keyword: string]: any }, pointer: string) => void) => {
    if (Array.isArray(value)) value.forEach((inner, index) => visit(inner, `${pointer}/${index}`, change));
    if (!isPlainObject(value)) return;
    change(value, pointer);
    for (const [key, inner] of Object.entries(value)) visit(inner, `${pointer}/${encodePointerPart(key)}`, change);
  };
  visit(root, "#", (schema, pointer) => {
    if (typeof schema.$id === "string") pointers.set(schema.$id, pointer);
    if (typeof schema.$anchor === "string") pointers.set(`#${schema.$anchor}`, pointer);
    if (Array.isArray(schema.items)) {
      const { items, additionalItems } = schema;
      delete schema.items;
      delete schema.additionalItems;
      Object.assign(schema, { prefixItems: items }, additionalItems !== undefined && { items: additionalItems });
    }
  });
  visit(root, "#", (schema) => {
    if (typeof schema.$id === "string") delete schema.$id;
    if (typeof schema.$anchor === "string") delete schema.$anchor;
    const reference = schema.$ref;
    if (typeof reference !== "string" || /^#(\/|$)/.test(reference)) return;
    const [id, rest = ""] = reference.split(/(?=#)/);
    const pointer = pointers.get(reference) ?? (pointers.has(id!) ? pointers.get(id!) + rest.slice(1) : undefined);
    if (pointer !== undefined) schema.$ref = pointer;
  });
  return root;
}

/** Returns a key as a part of a JSON pointer in a reference. */
export const encodePointerPart = (key: string): string =>
  // Escapes only the characters that a URI fragment cannot contain (RFC 3986), because validators compare pointers
  // literally.
  key.replaceAll("~", "~0").replaceAll("/", "~1").replace(/[^\w.~!$&'()*+,;=:@?-]/gu, encodeURIComponent);

/** Marks the fields that a client may leave out although the state always has them. */
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
    const output = toJsonSchema(schema, "output");
    return isPlainObject(output) ? withPointers(structuredClone(output)) : undefined;
  } catch {
    // A transform has no JSON Schema, so the result of the getter is not described.
    return undefined;
  }
}

/** Returns whether a schema validates by itself. Plain JSON Schema does not. */
export const isStandardSchema = (schema: object): schema is StandardSchema =>
  typeof (schema as Partial<StandardSchema>)["~standard"]?.validate === "function";

/** Marks one field, after copying its schema. */
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

/** Returns a property that is a schema, as a copy for this position only. */
function own(parent: { [key: string]: any } | undefined, key: string, fail: () => TypeError): { [keyword: string]: any } {
  const value = parent?.[key];
  if (!isPlainObject(value)) throw fail();
  return (parent![key] = { ...value });
}

/** Returns the schema of an object, list or record below references and `null`, after copying them for this position. */
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

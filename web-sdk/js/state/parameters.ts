/** The JSON Schemas of tools' parameters, derived from the schema of the state. */

import { isPlainObject } from "../mcp-web/type-guards.ts";
import { FILLED_KEYWORD, ID_KEYWORD, SYSTEM_KEYWORD } from "./markers.ts";
import { withEntry } from "./values.ts";
import { type Keywords, type SchemaNode, branchesOf, fieldsOf, isNullSchema, readNode, resolve } from "./schema-node.ts";

type Draft = { [keyword: string]: any };

/** The definition in a parameter's schema that contains the whole schema of the state, for references to it. */
const STATE_DEFINITION = "state";

/** Returns the schema of a whole value, including the fields that the app fills in. */
export function complete(node: SchemaNode): Draft {
  return published(node.written, node.root, false);
}

/** Returns the schema of a whole value that clients may set. */
export function whole(node: SchemaNode): Draft {
  return published(node.written, node.root, true);
}

/** Returns the schema of a change: all fields of objects are optional, at every level. */
export function partial(node: SchemaNode): Draft {
  return published(relaxed(node.written, node.root, new Set()), node.root, true);
}

/** Returns the schema of an object of parameters. */
export function parameters(properties: { [name: string]: Draft }, required: readonly string[] = []): Draft {
  const schema: Draft = { type: "object", properties: {} };
  const definitions: Draft = {};
  for (const [name, { $defs, ...property }] of Object.entries(properties)) {
    schema.properties = withEntry(schema.properties, name, property);
    Object.assign(definitions, $defs);
  }
  if (required.length) schema.required = [...required];
  if (Object.keys(definitions).length) schema.$defs = definitions;
  return schema;
}

/** Returns the schema without the marks, and with the definitions that it refers to. */
function published(written: Keywords, root: Keywords, hidesSystem: boolean): Draft {
  const printer: Printer = { root, hidesSystem, isReferring: false, isExact: false };
  const schema = strip(written, printer) as Draft;
  if (!printer.isReferring) return schema;
  // References stay unchanged: the whole schema of the state is a definition, and they point into it.
  return { ...schema, $defs: { [STATE_DEFINITION]: strip(root, printer) } };
}

/** Options for publishing a schema. */
interface Printer {
  readonly root: Keywords;
  readonly hidesSystem: boolean;
  /** Whether a reference was found. */
  isReferring: boolean;
  /** Whether rejections matter: a branch of `oneOf` must not accept the values of another. */
  isExact: boolean;
}

/** The keywords whose values are schemas, lists of schemas, or schemas by name. */
const SCHEMAS = new Set(["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems"]);
const LISTS = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Keywords that only the library or this module uses. */
const OWN_KEYWORDS = new Set([FILLED_KEYWORD, ID_KEYWORD, SYSTEM_KEYWORD, "$schema", "$id", "id", "~standard"]);

function strip(schema: unknown, printer: Printer): unknown {
  if (!isPlainObject(schema)) return schema;
  const hidden = printer.hidesSystem ? systemFields(schema, printer.root) : new Set();
  const inner = (value: unknown) => strip(value, printer);
  const exactly = (value: unknown) => {
    const before = printer.isExact;
    printer.isExact = true;
    const stripped = inner(value);
    printer.isExact = before;
    return stripped;
  };
  const result: Draft = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (OWN_KEYWORDS.has(keyword) && !(keyword === "id" && typeof value !== "string")) continue;
    // Additional fields from a client are dropped, and not rejected.
    if (keyword === "additionalProperties" && value === false && !printer.isExact) continue;
    if (keyword === "unevaluatedProperties" && value === false && !printer.isExact) continue;
    if (keyword === "$ref" && typeof value === "string" && /^#(\/|$)/.test(value)) {
      printer.isReferring = true;
      result.$ref = `#/$defs/${STATE_DEFINITION}${value.slice(1)}`;
    } else if (keyword === "required" && Array.isArray(value)) {
      // A field with a default may be left out, whatever the schema says.
      const required = value.filter((name) => !hidden.has(name) && !hasDefault(schema, name));
      if (required.length) result.required = required;
    } else if (MAPS.has(keyword) && isPlainObject(value)) {
      const entries = Object.entries(value).filter(([name]) => keyword !== "properties" || !hidden.has(name));
      result[keyword] = Object.fromEntries(entries.map(([name, schema]) => [name, inner(schema)]));
    } else if (keyword === "oneOf" && Array.isArray(value)) result[keyword] = value.map(exactly);
    else if (keyword === "not" || keyword === "if") result[keyword] = exactly(value);
    else if (LISTS.has(keyword) && Array.isArray(value)) result[keyword] = value.map(inner);
    else if (SCHEMAS.has(keyword)) result[keyword] = inner(value);
    else result[keyword] = value;
  }
  return result;
}

const hasDefault = ({ properties }: Keywords, name: string) => isPlainObject(properties?.[name]) && "default" in properties[name];

function systemFields(schema: Keywords, root: Keywords): Set<string> {
  if (!isPlainObject(schema.properties)) return new Set();
  const fields = fieldsOf(readNode({ properties: schema.properties, type: "object" }, root));
  return new Set(fields.filter(({ isSystem }) => isSystem).map(({ name }) => name));
}

/** Keywords about missing fields: the whole state is validated with them, but a change may leave fields out. */
const ABSENCE_KEYWORDS = ["required", "minProperties", "dependentRequired", "dependentSchemas", "dependencies", "allOf", "not", "if", "then", "else"];

/** Returns a schema whose objects may leave out fields. Lists and unions stay whole. */
function relaxed(written: Keywords, root: Keywords, seen: Set<unknown>): Keywords {
  if (seen.has(written.$ref ?? written)) return written;
  const inside = new Set([...seen, written.$ref ?? written]);
  const schema = resolve(written, root);
  const branches = branchesOf(schema);
  const rest: Draft = { ...schema };
  // A field that is left out keeps its value.
  delete rest.default;
  if (branches) {
    if (branches.filter((branch) => !isNullSchema(resolve(branch, root))).length > 1) return withoutDefault(written);
    const keyword = schema.anyOf ? "anyOf" : "oneOf";
    return { ...rest, [keyword]: branches.map((branch) => relaxed(branch, root, inside)) };
  }
  const { kind } = readNode(schema, root);
  if (kind !== "object") return withoutDefault(written);
  for (const keyword of ABSENCE_KEYWORDS) delete rest[keyword];
  const properties = Object.entries(schema.properties as Keywords);
  return {
    ...rest,
    properties: Object.fromEntries(properties.map(([name, field]) => [name, relaxed(field, root, inside)])),
  };
}

function withoutDefault({ default: _default, ...schema }: Keywords): Keywords {
  return schema;
}

/** Reads a JSON Schema as the structure of a state: objects with fields, lists, records and other values. */

import type { JsonSchema } from "../types/infer.ts";
import { isPlainObject } from "../mcp-web/type-guards.ts";
import { FILLED_KEYWORD, ID_KEYWORD, SYSTEM_KEYWORD } from "./markers.ts";

/** The kinds of values, by the operations of tools on them. */
export type NodeKind =
  /** An object with named fields. */
  | "object"
  /** A list of items of one schema. */
  | "array"
  /** An object whose keys are data. */
  | "record"
  /** Values of several kinds, or of any kind. */
  | "union"
  /** Objects that several schemas describe together. */
  | "intersection"
  /** A value that is replaced as a whole. */
  | "scalar";

/** A JSON Schema whose keywords are read. */
export type Keywords = { readonly [keyword: string]: any };

/** The structure of one position in a state. */
export interface SchemaNode {
  readonly kind: NodeKind;
  /** The schema as written, including references. */
  readonly written: Keywords;
  /** The schema without `null` and without a reference at its root. */
  readonly schema: Keywords;
  readonly isNullable: boolean;
  /** The schema that references are relative to. */
  readonly root: Keywords;
}

/** A field of an object. */
export interface FieldNode extends SchemaNode {
  readonly name: string;
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  /** Marked with `id()`. */
  readonly isId: boolean;
  /** Marked with `system()`. */
  readonly isSystem: boolean;
}

/** Returns the structure that a schema describes. */
export function readNode(written: unknown, root: Keywords): SchemaNode {
  const { schema, isNullable } = withoutNull(keywordsOf(written), root);
  return { kind: kindOf(schema), written: keywordsOf(written), schema, isNullable, root };
}

/** The fields of objects, by their `properties`: a cache, because each call looks them up. */
const knownFields = new WeakMap<object, readonly FieldNode[]>();

/** Returns the fields of an object, in the order of the schema. */
export function fieldsOf({ schema, root }: SchemaNode): readonly FieldNode[] {
  const properties = keywordsOf(schema.properties);
  let fields = knownFields.get(properties);
  if (!fields) knownFields.set(properties, (fields = readFields(properties, schema.required ?? [], root)));
  return fields;
}

function readFields(properties: Keywords, required: readonly unknown[], root: Keywords): FieldNode[] {
  return Object.entries(properties).map(([name, written]) => ({
    ...readNode(written, root),
    name,
    isRequired: required.includes(name),
    hasDefault: hasKeyword(written, "default", root) || hasKeyword(written, FILLED_KEYWORD, root),
    isId: hasKeyword(written, ID_KEYWORD, root),
    isSystem: hasKeyword(written, SYSTEM_KEYWORD, root),
  }));
}

/** Returns a field of an object by its name. */
export function fieldOf(node: SchemaNode, name: string): FieldNode | undefined {
  return fieldsOf(node).find((field) => field.name === name);
}

/** Returns the structure of the items of a list, or of the values of a record. */
export function elementOf({ kind, schema, root }: SchemaNode): SchemaNode {
  return readNode(kind === "array" ? schema.items : recordValues(schema), root);
}

/** Returns the field that identifies an item, if one is marked. */
export const idFieldOf = (item: SchemaNode): FieldNode | undefined =>
  item.kind === "object" ? fieldsOf(item).find(({ isId }) => isId) : undefined;

/** Returns the structures of a union. */
export const branchNodes = ({ schema, root }: SchemaNode): SchemaNode[] =>
  (branchesOf(schema) ?? []).map((branch) => readNode(branch, root));

/** Returns the structures of a tuple's elements. */
export const tupleNodes = ({ schema, root }: SchemaNode): SchemaNode[] | undefined =>
  Array.isArray(schema.prefixItems) ? schema.prefixItems.map((element: unknown) => readNode(element, root)) : undefined;

/** Returns whether a value is a list or a record. */
export const isCollection = ({ kind }: SchemaNode): boolean => kind === "array" || kind === "record";

/** Returns whether an object accepts fields that its schema does not name. */
export const isOpen = ({ schema }: SchemaNode): boolean => schema.additionalProperties !== false || "patternProperties" in schema;

/** Follows a reference within the document; others are not followed. */
export function resolve(schema: Keywords, root: Keywords): Keywords {
  const seen = new Set<string>();
  while (typeof schema.$ref === "string" && !seen.has(schema.$ref)) {
    const { $ref, ...siblings } = schema;
    const target = lookUp($ref, root);
    if (!target) return schema;
    seen.add($ref);
    schema = { ...target, ...siblings };
  }
  return schema;
}

function lookUp(reference: string, root: Keywords): Keywords | undefined {
  if (!/^#(\/|$)/.test(reference)) return undefined;
  let target: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const key = decodePointerPart(part);
    target = (target as Keywords | undefined)?.[key];
  }
  return isPlainObject(target) ? target : undefined;
}

/** Returns the key that a part of a JSON pointer in a reference names. */
export function decodePointerPart(part: string): string {
  let decoded = part;
  try {
    decoded = decodeURIComponent(part);
  } catch {
    // A key with a percent sign that was not encoded.
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The branches of a union, with the keyword that lists them. */
export function branchesOf(schema: Keywords): readonly Keywords[] | undefined {
  const branches = schema.anyOf ?? schema.oneOf;
  return Array.isArray(branches) ? branches.map(keywordsOf) : undefined;
}

/** Returns whether a schema accepts only `null`. */
export const isNullSchema = (schema: Keywords): boolean => schema.type === "null" || schema.const === null;

/** Removes `null` from the values that a schema accepts. */
function withoutNull(written: Keywords, root: Keywords): { schema: Keywords; isNullable: boolean } {
  const schema = resolve(written, root);
  const { anyOf, oneOf, ...siblings } = schema;
  const branches = branchesOf(schema)?.map((branch) => resolve(branch, root));
  const others = branches?.filter((branch) => !isNullSchema(branch));
  if (branches && others?.length === 1) {
    const inner = withoutNull(others[0]!, root);
    const isNullable = inner.isNullable || others.length < branches.length;
    return { schema: { ...siblings, ...inner.schema }, isNullable };
  }
  if (branches) return { schema, isNullable: others!.length < branches.length };
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const types = schema.type.filter((type: unknown) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, isNullable: true };
  }
  return { schema, isNullable: schema.nullable === true };
}

function kindOf(schema: Keywords): NodeKind {
  if (Array.isArray(schema.allOf) && schema.allOf.length > 1) return "intersection";
  if (branchesOf(schema) || Array.isArray(schema.type)) return "union";
  const { type, properties, items, prefixItems } = schema;
  if (type === "array" || (type === undefined && items)) {
    // A read-only list has no tools for its items.
    return isPlainObject(items) && !prefixItems && !schema.readOnly ? "array" : "scalar";
  }
  if (type === "object" || properties) {
    if (properties) return "object";
    return recordValues(schema) === undefined ? "scalar" : "record";
  }
  const accepts = ["type", "enum", "const", "not", "if"];
  return accepts.some((keyword) => keyword in schema) ? "scalar" : "union";
}

function recordValues({ additionalProperties, patternProperties, propertyNames }: Keywords): unknown {
  const schemas = Object.values(keywordsOf(patternProperties));
  if (isPlainObject(additionalProperties)) schemas.push(additionalProperties);
  if (schemas.length) return schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  return additionalProperties === true || propertyNames ? {} : undefined;
}

/** Returns whether a schema, or the one inside its wrappers, has a keyword. */
function hasKeyword(written: unknown, keyword: string, root: Keywords): boolean {
  const schema = resolve(keywordsOf(written), root);
  if (keyword in schema) return true;
  const branches = branchesOf(schema)?.filter((branch) => !isNullSchema(branch)) ?? [];
  const inner = [...branches, ...(schema.allOf ?? [])];
  return inner.length === 1 && hasKeyword(inner[0], keyword, root);
}

const keywordsOf = (schema: unknown): Keywords => (isPlainObject(schema) ? (schema as JsonSchema) : {});

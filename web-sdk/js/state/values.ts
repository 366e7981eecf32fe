/** Operations on values of a state: reading and replacing by path, merging, comparing. Nothing is modified in place. */

import { McpWebError } from "../mcp-web/error.ts";
import { isObject, isPlainObject } from "../mcp-web/type-guards.ts";
import { type FieldNode, type SchemaNode, branchNodes, elementOf, fieldOf, fieldsOf, idFieldOf, isOpen, tupleNodes } from "./schema-node.ts";

/** The path to a position in a state: names of fields, keys of records and indexes of lists. */
export type Path = readonly (string | number)[];

/** An object whose fields are data. */
export type Fields = { [name: string]: unknown };

/** Returns the value at a path, or `undefined`. Inherited properties are ignored. */
export function getIn(state: unknown, path: Path): unknown {
  let value = state;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Fields)[key];
  }
  return value;
}

/** Returns the state with another value at a path. Missing containers on the path are created. */
export function setIn(state: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  const inner = setIn(getIn(state, [key]), rest, value);
  if (Array.isArray(state)) return state.with(key as number, inner);
  return withEntry(fieldsIn(state), String(key), inner);
}

/** Returns an object with one more own property, whatever its name. */
export function withEntry(object: Fields, key: string, value: unknown): Fields {
  const copy = { ...object };
  // An assignment to `__proto__` would set the prototype.
  Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true });
  return copy;
}

/** Returns the fields of an object or class instance; none if there is no value. */
export function fieldsIn(value: unknown): Fields {
  if (value === undefined || value === null) return {};
  if (isObject(value) && !(value instanceof Map) && !(value instanceof Set)) return value;
  throw unsuitable("an object");
}

/** Returns the items of a list, or none if there is no value. */
export function itemsIn(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw unsuitable("an array");
}

const unsuitable = (what: string) => new McpWebError("InvalidResult", `the app's state is not what its schema says: there should be ${what}`);

/**
 * Returns a value with the changes of a call: fields that the call leaves out keep their values, objects are merged, and
 * lists and other values are replaced. Fields of the app stay unchanged.
 */
export function merge(node: SchemaNode, current: unknown, given: unknown): unknown {
  const { kind } = node;
  if (!isObject(current) || !isPlainObject(given)) return replace(node, current, given);
  if (kind !== "object" && kind !== "record" && kind !== "intersection") return replace(node, current, given);
  let result: Fields = { ...current };
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || key === "__proto__") continue;
    const former = getIn(current, [key]);
    const inner = kind === "record" ? elementOf(node) : fieldOf(node, key);
    if (inner && isSystem(inner)) continue;
    if (!inner && kind === "object" && !isOpen(node)) continue;
    result = withEntry(result, key, inner ? merge(inner, former, value) : mergeUnnamed(former, value));
  }
  return result;
}

const isSystem = (node: SchemaNode | FieldNode) => "isSystem" in node && node.isSystem;

/** Merges values that the schema does not describe. */
function mergeUnnamed(current: unknown, given: unknown): unknown {
  if (!isObject(current) || !isPlainObject(given)) return given;
  let result: Fields = { ...current };
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || key === "__proto__") continue;
    result = withEntry(result, key, mergeUnnamed(getIn(current, [key]), value));
  }
  return result;
}

/**
 * Returns the value that replaces another as a whole: without fields that the schema does not allow, and with the former
 * fields of the app. Items of lists are matched by their ids.
 */
export function replace(node: SchemaNode, former: unknown, given: unknown): unknown {
  if (Array.isArray(given)) return replaceList(node, Array.isArray(former) ? former : [], given);
  if (!isPlainObject(given)) return given;
  if (node.kind === "record") {
    const entry = elementOf(node);
    return Object.keys(given).reduce<Fields>((object, key) => withEntry(object, key, replace(entry, getIn(former, [key]), given[key])), {});
  }
  if (node.kind === "union") return replaceFields(branchNodes(node).flatMap(fieldsOf), true, former, given);
  return node.kind === "object" ? replaceFields(fieldsOf(node), isOpen(node), former, given) : given;
}

function replaceFields(fields: readonly FieldNode[], isOpen: boolean, former: unknown, given: Fields): Fields {
  let result: Fields = {};
  for (const [name, value] of Object.entries(given)) {
    const field = fields.find((field) => field.name === name);
    if (field?.isSystem || (!field && !isOpen)) continue;
    result = withEntry(result, name, field ? replace(field, getIn(former, [name]), value) : value);
  }
  for (const { name, isSystem } of fields) {
    const value = getIn(former, [name]);
    if (isSystem && value !== undefined) result = withEntry(result, name, value);
  }
  return result;
}

function replaceList(node: SchemaNode, former: readonly unknown[], given: readonly unknown[]): unknown[] {
  const elements = tupleNodes(node);
  if (elements) return given.map((value, index) => (elements[index] ? replace(elements[index], former[index], value) : value));
  if (node.kind !== "array") return [...given];
  const item = elementOf(node);
  const idField = idFieldOf(item);
  return given.map((value) => {
    const id = idField && getIn(value, [idField.name]);
    const before = id === undefined ? undefined : former.find((item) => isSame(getIn(item, [idField!.name]), id));
    return replace(item, before, value);
  });
}

/** Returns a value with the defaults of plain JSON Schema, which no library fills in, and without `undefined`. */
export function withDefaults(node: SchemaNode, value: unknown): unknown {
  if (value === undefined) return "default" in node.schema ? structuredClone(node.schema.default) : undefined;
  if (node.kind === "array" && Array.isArray(value)) {
    const item = elementOf(node);
    return value.map((inner) => withDefaults(item, inner));
  }
  if (!isObject(value)) return value;
  const fields = node.kind === "object" ? fieldsOf(node) : [];
  const result: Fields = {};
  const add = (name: string, value: unknown) => {
    if (value !== undefined) Object.defineProperty(result, name, { value, writable: true, enumerable: true, configurable: true });
  };
  const entry = node.kind === "record" ? elementOf(node) : undefined;
  for (const [name, inner] of Object.entries(value)) {
    const described = entry ?? fields.find((field) => field.name === name);
    add(name, described ? withDefaults(described, inner) : inner);
  }
  for (const field of fields) if (!Object.hasOwn(result, field.name)) add(field.name, withDefaults(field, undefined));
  return result;
}

/** Returns an object with some of its properties, in their order. */
export function pick(object: unknown, names: readonly string[]): Fields {
  return isObject(object) ? Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name))) : {};
}

/** Returns whether two JSON values are equal. */
export function isSame(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((value, index) => isSame(value, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]));
}

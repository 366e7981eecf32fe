/** Values of a state: reading and replacing places, merging, comparing. Nothing is changed in place. */

import { isPlainObject } from "../mcp-web/type-guards.ts";
import { type SchemaNode, elementOf, fieldOf, fieldsOf, isOpen } from "./schema-node.ts";

/** The way to a place in a state: names of fields, keys of records and indexes of lists. */
export type Path = readonly (string | number)[];

type Fields = { [name: string]: unknown };

/** Returns the value at a place, or `undefined`. What is inherited is not there. */
export function getIn(state: unknown, path: Path): unknown {
  let value = state;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Fields)[key];
  }
  return value;
}

/** Returns the state with another value at a place. What is on the way and not there is made. */
export function setIn(state: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  const inner = setIn(getIn(state, [key]), rest, value);
  if (Array.isArray(state)) return state.with(key as number, inner);
  return withEntry(isPlainObject(state) ? state : {}, String(key), inner);
}

/** Returns an object with one more property of its own, whatever its name. */
export function withEntry(object: Fields, key: string, value: unknown): Fields {
  const copy = { ...object };
  // An assignment to `__proto__` would set the prototype.
  Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true });
  return copy;
}

/**
 * Returns a value with what a call changes in it: fields that the call leaves out keep their values, objects are merged,
 * lists and everything else are replaced.
 */
export function merge(node: SchemaNode, current: unknown, given: unknown): unknown {
  if (!isPlainObject(current) || !isPlainObject(given)) return given;
  const { kind } = node;
  if (kind !== "object" && kind !== "record" && kind !== "intersection") return given;
  let result: Fields = { ...current };
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || key === "__proto__") continue;
    const inner = kind === "record" ? elementOf(node) : fieldOf(node, key);
    const former = getIn(current, [key]);
    result = withEntry(result, key, inner ? merge(inner, former, value) : mergeUnnamed(former, value));
  }
  return result;
}

/** Merges what the schema does not describe. */
function mergeUnnamed(current: unknown, given: unknown): unknown {
  if (!isPlainObject(current) || !isPlainObject(given)) return given;
  let result: Fields = { ...current };
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || key === "__proto__") continue;
    result = withEntry(result, key, mergeUnnamed(getIn(current, [key]), value));
  }
  return result;
}

/** Returns what a client may set of a value: without the fields of the app, and without those that the schema does not allow. */
export function settable(node: SchemaNode, given: unknown): unknown {
  if (node.kind === "array" && Array.isArray(given)) {
    const item = elementOf(node);
    return given.map((value) => settable(item, value));
  }
  if (!isPlainObject(given)) return given;
  if (node.kind === "record") {
    const entry = elementOf(node);
    return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, settable(entry, value)]));
  }
  if (node.kind !== "object") return given;
  const fields = new Map(fieldsOf(node).map((field) => [field.name, field]));
  const kept = Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
    const field = fields.get(name);
    if (field) return field.isSystem ? [] : [[name, settable(field, value)]];
    return isOpen(node) ? [[name, value]] : [];
  });
  return Object.fromEntries(kept);
}

/** Returns a value with the defaults of plain JSON Schema, which no library fills in. */
export function withDefaults(node: SchemaNode, value: unknown): unknown {
  if (value === undefined) return "default" in node.schema ? structuredClone(node.schema.default) : undefined;
  if (node.kind === "array" && Array.isArray(value)) {
    const item = elementOf(node);
    return value.map((inner) => withDefaults(item, inner));
  }
  if (!isPlainObject(value)) return value;
  if (node.kind === "record") {
    const entry = elementOf(node);
    return Object.keys(value).reduce((object, key) => withEntry(object, key, withDefaults(entry, value[key])), value);
  }
  if (node.kind !== "object") return value;
  return fieldsOf(node).reduce((object, field) => {
    const filled = withDefaults(field, getIn(value, [field.name]));
    return filled === undefined ? object : withEntry(object, field.name, filled);
  }, value);
}

/** Returns an object with only some of its properties, in their order. */
export function pick(object: unknown, names: readonly string[]): Fields {
  return isPlainObject(object) ? Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name))) : {};
}

/** Returns whether two JSON values are the same. */
export function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((value, index) => isSame(value, right[index]));
  }
  if (!isPlainObject(left) || !isPlainObject(right)) return false;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]));
}

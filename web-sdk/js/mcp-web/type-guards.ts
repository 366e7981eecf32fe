/** Telling objects apart. */

/** An object whose fields are not known. */
export type UnknownObject = { [field: string]: unknown };

/** Returns whether the value is an object and no array. */
export function isObject(value: unknown): value is UnknownObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether the value is an object literal, also of another frame; instances of classes are not. */
export function isPlainObject(value: unknown): value is UnknownObject {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Type guards for objects. */

/** An object with unknown fields. */
export type UnknownObject = { [field: string]: unknown };

/** Returns whether the value is an object and not an array. */
export function isObject(value: unknown): value is UnknownObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether the value is an object literal, possibly of another frame, and not an instance of a class. */
export function isPlainObject(value: unknown): value is UnknownObject {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

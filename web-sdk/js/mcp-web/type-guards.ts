/** Telling objects apart. */

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Also true for objects of another frame; false for instances of classes, such as zod schemas. */
export function isPlainObject(value) {
  if (!isObject(value) || "~standard" in value) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

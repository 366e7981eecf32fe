/** Converts values of an app to JSON. */

/** The second parameter of `JSON.stringify`. */
type Replacer = (key: string, value: unknown) => unknown;

/**
 * Returns the JSON text of a value; `undefined` has none.
 *
 * `subject` names the value in the error that `createError` creates for values that JSON cannot express.
 */
export function toJson(
  value: unknown,
  subject: string,
  createError: (message: string) => Error,
  replacer?: Replacer,
): string | undefined {
  try {
    return JSON.stringify(value, replacer);
  } catch (cause) {
    throw Object.assign(createError(`${subject} is not JSON: ${(cause as Error).message}`), { cause });
  }
}

/** What an app passes in, as JSON. */

/** `wrong(message)` makes the error for what JSON cannot hold; `what` is that, in words. */
export function jsonOf(value, what, wrong, replacer) {
  try {
    return JSON.stringify(value, replacer);
  } catch (cause) {
    throw Object.assign(wrong(`${what} is not JSON: ${cause.message}`), { cause });
  }
}

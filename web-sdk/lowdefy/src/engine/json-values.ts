/** Counts the values in JSON. Many small values cost far more than their length suggests. */

const [QUOTE, COMMA, COLON, BRACKET, BACKSLASH, BRACE] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b];

/** Returns the approximate number of values in a JSON text. */
export function countValuesInText(text: Buffer): number {
  let count = 1;
  let isString = false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index];
    if (isString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) {
      isString = true;
    } else if (byte === COMMA || byte === COLON || byte === BRACKET || byte === BRACE) {
      count += 1;
    }
  }
  return count;
}

/** Returns the number of values in a value, which may be deeply nested. */
export function countValues(value: unknown): number {
  let count = 0;
  const rest = [value];
  while (rest.length) {
    const next = rest.pop();
    count += 1;
    if (typeof next === "object" && next !== null) for (const inner of Object.values(next)) rest.push(inner);
  }
  return count;
}

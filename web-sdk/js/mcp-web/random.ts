/** Random text. */

/** Returns random bytes as hexadecimal text: 16, because ids of that length never meet by chance. `crypto.randomUUID` is missing on plain http pages; this is not. */
export function randomHex(bytes = 16): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

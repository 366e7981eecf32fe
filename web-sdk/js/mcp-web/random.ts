/** Generates random text. */

/**
 * Returns random bytes as hexadecimal text: 16 by default, so that ids never collide by chance. On plain http pages,
 * `crypto.randomUUID` is missing, but this is available.
 */
export function randomHex(bytes = 16): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

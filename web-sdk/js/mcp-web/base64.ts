/** Converts between base64 and bytes. */

/** More arguments than this overflow the stack of some browsers. */
const CHUNK = 0x8000;

/** Encodes the bytes of the view. */
export function base64(view: ArrayBufferView): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  // Newer browsers have a method for it.
  const { toBase64 } = bytes as { toBase64?: () => string };
  if (toBase64) return toBase64.call(bytes);
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

/** Returns the decoded bytes. */
export const decodeBase64 = (text: string) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

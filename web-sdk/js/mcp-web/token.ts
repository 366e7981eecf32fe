/** The token that the page makes for itself. */

import { randomHex } from "./environment.js";
import { storageNamed } from "./storage.js";

/** 192 random bits: nobody guesses a token, and a bridge takes none shorter than 16 characters. */
const TOKEN_BYTES = 24;

export function keptToken(bridge, storage = "local") {
  const key = `mcp-web:token:${bridge}`;
  const store = storageNamed(storage);
  try {
    const kept = store?.getItem(key);
    if (kept) return kept;
  } catch {
    // Storage that throws is storage that is not there.
  }
  const token = randomHex(TOKEN_BYTES);
  try {
    store?.setItem(key, token);
  } catch {
    // The token then lasts as long as the document.
  }
  return token;
}

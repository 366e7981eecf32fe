/** The token that the page makes for itself. */

import { randomHex } from "./environment.ts";
import { openStorage } from "./storage.ts";

/** 192 random bits: nobody guesses a token, and a bridge takes none shorter than 16 characters. */
const TOKEN_BYTES = 24;

/** Returns the token in the storage, or a new one that is put there. */
export function storedToken(bridge: string, storage: "local" | "session" | "none" = "local"): string {
  const key = `mcp-web:token:${bridge}`;
  const store = openStorage(storage);
  try {
    const stored = store?.getItem(key);
    if (stored) return stored;
  } catch {
    // Storage that throws is treated like storage that is missing.
  }
  const token = randomHex(TOKEN_BYTES);
  try {
    store?.setItem(key, token);
  } catch {
    // The token then lasts as long as the document.
  }
  return token;
}

/** The token that the page makes for itself. */

import { randomHex } from "./random.ts";
import { openStorage } from "./storage.ts";

/** 192 random bits: nobody guesses a token, and a bridge takes none shorter than 16 characters. */
const TOKEN_BYTES = 24;

/** Returns the token in the storage, or a new one that is put there. */
export function storedToken(bridge: string, storage: "local" | "session" | "none" = "local"): string {
  const key = `mcp-web:token:${bridge}`;
  const store = openStorage(storage);
  const token = randomHex(TOKEN_BYTES);
  try {
    const stored = store?.getItem(key);
    if (stored) return stored;
    store?.setItem(key, token);
  } catch {
    // Storage that throws is treated like storage that is missing: the token lasts as long as the document.
  }
  return token;
}

/** The token that the page generates for itself. */

import { randomHex } from "./random.ts";
import { openStorage } from "./storage.ts";

/** 192 random bits, which cannot be guessed. A bridge rejects tokens shorter than 16 characters. */
export const TOKEN_BYTES = 24;

/** Returns the stored token, or generates one and stores it. */
export function storedToken(bridge: string, storage: "local" | "session" | "none" = "local"): string {
  const key = `mcp-web:token:${bridge}`;
  const store = openStorage(storage);
  const token = randomHex(TOKEN_BYTES);
  try {
    const stored = store?.getItem(key);
    if (stored) return stored;
    store?.setItem(key, token);
  } catch {
    // Storage that throws is treated like missing storage: the token lasts until the document is closed.
  }
  return token;
}

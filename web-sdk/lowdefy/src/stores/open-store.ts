/** Opens the store that the option `--store` names. */

import { openFileStore } from "./file-store.ts";
import { openRedisStore } from "./redis-store.ts";
import type { SessionStore } from "./session-store.ts";
import type { StoreOptions } from "./store-options.ts";

/**
 * Opens the store of a principal.
 * @param location the path of a folder, `redis://…` or `rediss://…`. Redis needs the npm package `redis` 6.
 * @param principal the result of `principalOfToken`.
 * @example
 * const store = await openStore("./sessions", principalOfToken(token), { maxSessions: 50 });
 * @throws Error if the location is another URL, or an invalid one. The message does not repeat it, because it may contain a
 * password.
 * @throws StoreUnavailable if the store cannot be used.
 */
export async function openStore(location: string, principal: string, options: StoreOptions = {}): Promise<SessionStore> {
  if (/^rediss?:/i.test(location)) return await openRedisStore(location, principal, options);
  if (location === "" || /^[a-z][a-z\d+.-]+:\/\//i.test(location)) throw new Error("--store is neither a path nor a Redis URL: give the path of a folder, redis://… or rediss://…");
  return await openFileStore(location, principal, options);
}

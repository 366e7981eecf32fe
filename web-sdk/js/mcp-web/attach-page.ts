/** Finds the `McpWeb` that this document has for an app. */

import type { McpWebOptions } from "../types/options.ts";
import { pageRegistry } from "./page-registry.ts";
import { VERSION } from "./version.ts";

/**
 * Returns the `McpWeb` that has the key, and passes it the newer options. It may belong to another copy of the SDK. In that
 * case, one that `create` returns replaces it later.
 */
export function attachPage(key: string, options: McpWebOptions, create: (options: McpWebOptions) => object): object | undefined {
  const registry = pageRegistry();
  const entry = registry.get(key);
  entry?.attach(options);
  if (entry && entry.version !== VERSION) {
    const isCurrent = () => registry.get(key) === entry;
    const copy = { name: options.name, version: VERSION, isCurrent, create };
    import("../mcp-web-takeover.ts").then(({ meet }) => meet(entry, copy as Parameters<typeof meet>[1]), console.warn);
  }
  return entry?.page;
}

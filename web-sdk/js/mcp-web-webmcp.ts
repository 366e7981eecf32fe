/**
 * For sites that have tools of the browser (WebMCP): desktop clients can use these tools, with the bridge.
 *
 * ```js
 * import { connectWebMcp } from "mcp-web-sdk/webmcp";
 * connectWebMcp({ name: "My shop" });
 * ```
 *
 * @packageDocumentation
 */

import { McpWeb } from "./mcp-web.ts";
import type { McpWebOptions } from "./types/options.ts";
import type { WebMcpOptions } from "./types/webmcp.ts";

/** How the site presents itself, which bridge it uses, and what is imported. */
export type ConnectOptions = Omit<McpWebOptions, "webmcp"> & Pick<WebMcpOptions, "frames" | "onImportsChange">;

/**
 * Offers the tools and the forms that are registered at `document.modelContext` to AI clients: now and later, as long as
 * they are there. Where the browser has no such API, nothing is offered.
 *
 * @param options as for `new McpWeb()`
 * @returns the page's `McpWeb`, for its status, its token, and the configuration for AI clients
 * @throws TypeError as `new McpWeb()`
 */
export function connectWebMcp(options: ConnectOptions): McpWeb {
  const { frames, onImportsChange, ...rest } = options;
  return new McpWeb({ ...rest, webmcp: { ...(frames && { frames }), ...(onImportsChange && { onImportsChange }) } });
}

export type { ImportedTool } from "./types/webmcp.ts";

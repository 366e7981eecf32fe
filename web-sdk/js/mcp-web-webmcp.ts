/**
 * For sites that have tools of the browser (WebMCP): through the bridge, desktop clients can use these tools.
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

/** The description of the site, its bridge, and the tools to import. */
export type ConnectOptions = Omit<McpWebOptions, "webmcp"> & Pick<WebMcpOptions, "frames" | "onImportsChange">;

/**
 * Offers the tools and forms of `document.modelContext` to AI clients while they exist, including later ones. If the
 * browser does not have this API, nothing is offered.
 *
 * @param options like those of `new McpWeb()`
 * @returns the page's `McpWeb`, for its status, its token, and the configuration for AI clients
 * @throws TypeError like `new McpWeb()`
 */
export function connectWebMcp(options: ConnectOptions): McpWeb {
  const { frames, onImportsChange, ...rest } = options;
  return new McpWeb({ ...rest, webmcp: { ...(frames && { frames }), ...(onImportsChange && { onImportsChange }) } });
}

export type { ImportedTool } from "./types/webmcp.ts";

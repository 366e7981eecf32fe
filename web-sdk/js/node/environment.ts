/** The environment of a process without a document. It replaces `mcp-web/environment.ts`. */

import process from "node:process";

import type * as Browser from "../mcp-web/environment.ts";
import type { McpWebOptions } from "../types/options.ts";
import type { NodeOptions, WebSocketClass } from "./options.ts";

export const canConnect: typeof Browser.canConnect = true;

/** Returns the runtime with its version, such as `node/22.12.0`. */
function runtime(): string {
  const { bun, deno, node } = process.versions;
  return bun ? `bun/${bun}` : deno ? `deno/${deno}` : `node/${node}`;
}

export const pageFacts: typeof Browser.pageFacts = () => ({ origin: undefined, userAgent: runtime(), visibility: () => undefined });

/** Returns the class of sockets, if the app has passed one or the runtime has one. */
export const webSocketClass = (options: McpWebOptions): WebSocketClass | undefined =>
  (options as NodeOptions).WebSocket ?? (globalThis.WebSocket as WebSocketClass | undefined);

export const hostEnvironment: typeof Browser.hostEnvironment = (options) => ({
  openSocket: (url) => new (webSocketClass(options)!)(url) as WebSocket,
  // A process has none of these events: it is neither shown nor frozen. Its signals disconnect it.
  listen: () => {},
});

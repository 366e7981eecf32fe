/** The facts about the page that the wasm sends to the bridge. */

import type { McpWebOptions } from "../types/options.ts";
import type { PageInfo } from "./core.ts";
import { pageFacts } from "./environment.ts";
import { randomHex } from "./random.ts";

/** Returns the address of the page's socket. */
export const socketUrl = (bridgeUrl: string, sessionId: string): string =>
  `${bridgeUrl.replace("http", "ws")}/ws?session=${encodeURIComponent(sessionId)}`;

export function pageInfo(options: McpWebOptions, bridgeUrl: string, sessionId: string): PageInfo {
  const { name, description, version, icon, sessionName, authToken } = options;
  return {
    bridgeUrl,
    socketUrl: socketUrl(bridgeUrl, sessionId),
    sessionId,
    sessionName,
    // A fresh token can be fetched.
    renewable: typeof authToken === "function",
    app: JSON.stringify({ name, description, version, icon }),
    documentId: randomHex(8),
    ...pageFacts(),
  };
}

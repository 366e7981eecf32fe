/** The promises of `connect()` that are pending. */

import type { Status } from "../types/status.ts";
import type { CoreStatus } from "./browser-restrictions.ts";
import { McpWebError } from "./error.ts";
import type { HandedOver } from "./page-registry.ts";

export type Waiting = HandedOver["waiting"];

/** Settles the promises, if this status is one that lasts. A failure that nobody waits for is reported. */
export function settle(waiting: Waiting, status: Status): void {
  const { state, error } = status as CoreStatus;
  if (state === "connected" || state === "failed" || state === "disconnected") {
    const settled = waiting.splice(0);
    const reason = error ?? new McpWebError("Disconnected", "disconnect() was called");
    for (const { resolve, reject } of settled) state === "connected" ? resolve() : reject(reason);
    if (state === "failed" && !settled.length) console.error(`mcp-web: ${reason.message}`);
  }
}

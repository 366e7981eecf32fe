/** The connection as the app sees it: its state, what went wrong, what stands in its way. */

import type { McpWebError } from "../mcp-web/error.ts";

/** The state of the connection. */
export type Status =
  /** Not started: on a server, or with `autoConnect: false`. */
  | { readonly state: "idle" }
  /** The wasm is being loaded. */
  | { readonly state: "loading" }
  /** The first attempt is under way. `error` says what it waits for: `LocalNetworkPending`, the user's consent. */
  | { readonly state: "connecting"; readonly error?: McpWebError }
  /** Tools can be called. */
  | { readonly state: "connected" }
  /**
   * No bridge answered, or the connection broke, for the reason in `error`. The next attempt starts in
   * `retryInMs` milliseconds, counted from this change; while one is under way there is no `retryInMs`.
   */
  | { readonly state: "reconnecting"; readonly error: McpWebError; readonly retryInMs?: number }
  /** `disconnect()` was called. */
  | { readonly state: "disconnected" }
  /**
   * Final until `connect()` is called. For the reason `LocalNetworkDenied`, the page also connects by itself when the
   * user changes the permission.
   */
  | { readonly state: "failed"; readonly error: McpWebError };

/** An AI client, by its own words. */
export interface ClientInfo {
  /** Its name for programs. */
  readonly name: string;
  /** Its version. */
  readonly version?: string;
  /** Its name for people. */
  readonly title?: string;
}

/** An AI client that is connected for this token. */
export interface ConnectedClient extends ClientInfo {
  /** Tells two clients of one name apart. */
  readonly id: number;
  /** The MCP revision it speaks, such as `2025-11-25`. */
  readonly protocolVersion: string;
}

/** What {@link McpWeb.diagnose} found out. */
export interface Diagnosis {
  /** Whether no check failed. */
  readonly ok: boolean;
  /** All of it as text for a bug report. The token is not in it. */
  readonly summary: string;
  /** From the page's surroundings to the bridge and what was registered there. */
  readonly checks: readonly DiagnosisCheck[];
}

/** One thing that was looked at. */
export interface DiagnosisCheck {
  /** What: `origin`, `mixed content`, `local network access`, `content security policy`, `wasm`, `bridge`, `token` … */
  readonly name: string;
  /** `failed`: this stands in the way. `warning`: it may. `unknown`: nobody could look. */
  readonly status: "passed" | "failed" | "warning" | "unknown";
  /** What was found; with the {@link McpWebErrorCode} of the wall in front, if it is one. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** The connection as the app sees it: its state, its errors, and their causes. */

import type { McpWebError } from "../mcp-web/error.ts";

/** The state of the connection. */
export type Status =
  /** Not started: on a server, or with `autoConnect: false`. */
  | { readonly state: "idle" }
  /** The wasm is being loaded. */
  | { readonly state: "loading" }
  /** The first attempt is in progress. `error` says what it is waiting for: `LocalNetworkPending`, the user's consent. */
  | { readonly state: "connecting"; readonly error?: McpWebError }
  /** Clients can call the tools. */
  | { readonly state: "connected" }
  /**
   * No bridge answered, it is full, or the connection broke, for the reason in `error`. The next attempt starts in
   * `retryInMs` milliseconds, counted from this change; `retryInMs` is absent while an attempt is in progress.
   */
  | { readonly state: "reconnecting"; readonly error: McpWebError; readonly retryInMs?: number }
  /** `disconnect()` was called. */
  | { readonly state: "disconnected" }
  /**
   * Final until `connect()` is called. With the reason `LocalNetworkDenied`, the page also connects automatically when the
   * user changes the permission.
   */
  | { readonly state: "failed"; readonly error: McpWebError };

/** An AI client's description of itself. */
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
  /** Distinguishes two clients with the same name. */
  readonly id: number;
  /** The MCP revision that it uses, such as `2025-11-25`. */
  readonly protocolVersion: string;
}

/** The result of {@link McpWeb.diagnose}. */
export interface Diagnosis {
  /** Whether no check failed. */
  readonly ok: boolean;
  /** The whole result as text for a bug report. It does not contain the token. */
  readonly summary: string;
  /** The checks, from the page's environment to the bridge and the registered items. */
  readonly checks: readonly DiagnosisCheck[];
}

/** One check. */
export interface DiagnosisCheck {
  /**
   * The subject: `origin`, `mixed content`, `local network access`, `content security policy`, `wasm`, `bridge`, `token` …
   */
  readonly name: string;
  /** `failed`: this prevents the connection. `warning`: it may prevent it. `unknown`: it could not be checked. */
  readonly status: "passed" | "failed" | "warning" | "unknown";
  /** The finding; with the {@link McpWebErrorCode} of the obstacle, if it is one. */
  readonly message: string;
  /** Advice. */
  readonly remedy?: string;
}

/**
 * The `McpWeb` objects of this document, for all copies of the SDK in it: a bundle may contain several, and modules that
 * are replaced while the page runs make theirs again.
 */

import type { McpWebOptions } from "../types/options.ts";
import type { DefinitionKind } from "./registration.ts";

/** What copies of the SDK know of each other's `McpWeb`. All versions have it. */
export interface PageEntry {
  /** The version of the copy that made it. */
  readonly version: string;
  /** The `McpWeb`. */
  readonly page: object;
  /** Another `McpWeb` was made for the same app, with these options. */
  attach(options: McpWebOptions): void;
  /** Returns whether no call and no query of the page is running. */
  isIdle(): boolean;
  /** Ends the `McpWeb`, and returns what another one needs to go on in its place. */
  handOver(): HandedOver;
}

/** What a `McpWeb` has when it ends. */
export interface HandedOver {
  options: McpWebOptions;
  /** In the order of adding. */
  definitions: HandedOverDefinition[];
  /** The app's listeners are notified through these. */
  notify: { status(status: any): void; clients(clients: any): void; call(event: any): void };
  /** The promises of `connect()` that are pending. */
  waiting: { resolve(): void; reject(reason: unknown): void }[];
}

/** A definition with what the app holds of it. */
export interface HandedOverDefinition {
  kind: DefinitionKind;
  definition: any;
  handle: object;
  /** Settles the promises of the former handle by those of the new one. */
  follow(handle: any): void;
}

/** By the key of the app. */
type PageRegistry = Map<string, PageEntry>;

const REGISTRY = Symbol.for("mcp-web.pages");

/** Returns the registry of this document. */
export function pageRegistry(): PageRegistry {
  const global = globalThis as { [REGISTRY]?: PageRegistry };
  return (global[REGISTRY] ??= new Map());
}

/**
 * Returns what identifies an app in the document. An app that wants several sessions names them. Tokens of functions
 * change, and the newest function is the one to use.
 */
export function pageKey(bridgeUrl: string, { name, sessionId, sessionName, authToken }: McpWebOptions): string {
  return JSON.stringify([bridgeUrl, name, sessionId, sessionName, typeof authToken === "function" || authToken]);
}

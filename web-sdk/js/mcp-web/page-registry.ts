/**
 * The `McpWeb` objects of this document, for all copies of the SDK in it: a bundle may contain several, and modules that
 * are replaced at run time create theirs again.
 */

import type { McpWebOptions } from "../types/options.ts";
import type { DefinitionKind } from "./registration.ts";

/** The interface between copies of the SDK for each other's `McpWeb`. All versions have it. */
export interface PageEntry {
  /** The version of the copy that created it. */
  readonly version: string;
  /** The `McpWeb`. */
  readonly page: object;
  /** Called when another `McpWeb` was created for the same app, with these options. */
  attach(options: McpWebOptions): void;
  /** Returns whether no call and no query of the page is running. */
  isIdle(): boolean;
  /** Ends the `McpWeb`, and returns the data that another one needs to replace it. */
  handOver(): HandedOver;
}

/** The data of a `McpWeb` when it ends. */
export interface HandedOver {
  options: McpWebOptions;
  /** In the order of adding. */
  definitions: HandedOverDefinition[];
  /** The app's listeners are notified through these. */
  notify: { status(status: any): void; clients(clients: any): void; call(event: any): void };
  /** The promises of `connect()` that are pending. */
  waiting: { resolve(): void; reject(reason: unknown): void }[];
}

/** A definition with the app's handle to it. */
export interface HandedOverDefinition {
  kind: DefinitionKind;
  definition: any;
  handle: object;
  /** Settles the promises of the former handle like those of the new one. */
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
 * Returns the key of an app in the document. An app that needs several sessions names them. Tokens of functions change, and
 * the newest function is used.
 */
export function pageKey(bridgeUrl: string, { name, sessionId, sessionName, authToken }: McpWebOptions): string {
  return JSON.stringify([bridgeUrl, name, sessionId, sessionName, typeof authToken === "function" || authToken]);
}

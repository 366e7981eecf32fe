/** The options of `new McpWeb()` for an app without a browser. */

import type { McpWebOptions } from "../types/options.ts";

/**
 * A class whose objects are WebSockets with the browser's interface: that of Node 22 and later, Deno and Bun, or of the
 * package `ws`.
 */
export type WebSocketClass = new (url: string) => object;

/** The description of the app, its bridge, and the settings of a process that has no tab. */
export interface NodeOptions extends Omit<McpWebOptions, "storage" | "elicitInPage" | "dialogStrings" | "webmcp"> {
  /**
   * The address of the bridge: `http`, `https`, `ws` or `wss`, optionally with a path.
   *
   * @defaultValue `http://localhost:3001`
   */
  bridgeUrl?: string;
  /**
   * The token that the app and AI clients share, as in a page: a string of at least 16 characters, or a function that is
   * called before every connection.
   *
   * @defaultValue The token in {@link NodeOptions.stateFile}; without such a file 192 random bits, which are lost when the
   * process ends.
   */
  authToken?: string | (() => string | Promise<string>);
  /**
   * The id of the session, at most 128 bytes. A connection with the same id and token takes over the session of an older
   * one, whose status becomes `failed` (`SessionSuperseded`).
   *
   * @defaultValue The id in {@link NodeOptions.stateFile}; without such a file 128 random bits, which are lost when the
   * process ends.
   */
  sessionId?: string;
  /**
   * A file for the generated token and session id, so that the next process of the app continues the same session, with the
   * same configuration of AI clients. It is JSON, is created together with its folder, and only its owner may read it (mode
   * 0600). It is for one app and one bridge. If two processes use the same file, the newer one has the session.
   *
   * @defaultValue none
   */
  stateFile?: string;
  /**
   * Whether to connect immediately. Otherwise nothing is loaded before `connect()`.
   *
   * @defaultValue `true`
   */
  autoConnect?: boolean;
  /**
   * Whether SIGTERM and SIGINT disconnect first, so that AI clients see immediately that the app is gone. Afterwards the
   * process ends as without this option, unless the app itself listens to the signal: in that case the app ends the
   * process.
   *
   * @defaultValue `true`
   */
  handleSignals?: boolean;
  /**
   * The class of the socket. Node 20 does not have one: `import { WebSocket } from "ws"`.
   *
   * @defaultValue `globalThis.WebSocket`
   */
  WebSocket?: WebSocketClass;
}

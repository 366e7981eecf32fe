/** What an app without a browser passes to `new McpWeb()`. */

import type { McpWebOptions } from "../types/options.ts";

/** A class whose objects are WebSockets as a browser has them: that of Node 22 and later, Deno and Bun, or of the package `ws`. */
export type WebSocketClass = new (url: string) => object;

/** How the app presents itself, which bridge it uses, and what a process has in place of a tab. */
export interface NodeOptions extends Omit<McpWebOptions, "storage" | "elicitInPage" | "dialogStrings" | "webmcp"> {
  /**
   * Where the bridge is: `http`, `https`, `ws` or `wss`, with a path if it has one.
   *
   * @defaultValue `http://localhost:3001`
   */
  bridgeUrl?: string;
  /**
   * The token that the app and AI clients share, as in a page: a string of at least 16 characters, or a function that is
   * asked before every connection.
   *
   * @defaultValue The token in {@link NodeOptions.stateFile}; without such a file 192 random bits, which end with the process.
   */
  authToken?: string | (() => string | Promise<string>);
  /**
   * The session: at most 128 bytes. A connection with the same id and token takes over the session of an older one, whose
   * status becomes `failed` (`SessionSuperseded`).
   *
   * @defaultValue The id in {@link NodeOptions.stateFile}; without such a file 128 random bits, which end with the process.
   */
  sessionId?: string;
  /**
   * A file for the token and the session id that are made here, so that the next process of the app is the same session:
   * AI clients that are configured for it go on. It is JSON, is created with its folder, and only its owner may read it
   * (mode 0600). It is for one app and one bridge. Of two processes with the same file, the newer one has the session.
   *
   * @defaultValue none
   */
  stateFile?: string;
  /**
   * Whether to connect at once. Otherwise nothing is loaded before `connect()`.
   *
   * @defaultValue `true`
   */
  autoConnect?: boolean;
  /**
   * Whether SIGTERM and SIGINT disconnect first, so that AI clients hear at once that the app is gone. The process then ends
   * as without this, unless the app itself listens to the signal: then it ends the process.
   *
   * @defaultValue `true`
   */
  handleSignals?: boolean;
  /**
   * The class of the socket. Node 20 has none: `import { WebSocket } from "ws"`.
   *
   * @defaultValue `globalThis.WebSocket`
   */
  WebSocket?: WebSocketClass;
}

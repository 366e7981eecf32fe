/**
 * Calls the function in `authToken`. Loaded if `authToken` is a function.
 *
 * Another `new McpWeb()` for the same app may pass another function, possibly that of another user. Nothing that the page
 * sends, and no call, may pass from one user to the other, so the open socket is held until the bridge has reported the
 * user of the new function's token. If it is the same user, everything continues. If it is another one, the bridge ends the
 * session, and the page reconnects.
 */

import type { HostEnvironment } from "./mcp-web/core.ts";
import type { McpWebOptions } from "./types/options.ts";
import { HeldSocket } from "./token-function/held-socket.ts";

/**
 * How long a new function may take to return a token: the time for which the bridge keeps the session of a page without a
 * connection.
 */
const TIMEOUT_MS = 5_000;

/** The page leaves: the bridge ends the session. */
const NORMAL_CLOSE = 1000;

/** The session continues on the next connection, for which the function is called again. */
const ABANDONED_CLOSE = 4000;

/** The `readyState` of a socket that may still be used. */
const OPEN = 1;

export class TokenFunction {
  readonly #openSocket: HostEnvironment["openSocket"];
  readonly #options: () => McpWebOptions;
  readonly #onToken: (token: string | undefined) => void;
  #token: string | undefined;
  /** Resolved when the function is replaced; a new object for each function. */
  #replaced = deferred();
  /** The object of the function that has returned the token. */
  #called: unknown;
  #socket: WebSocket | undefined;
  /** The token with which the socket was opened. */
  #socketToken: string | undefined;
  /** The socket, while its token is verified. */
  #held: HeldSocket | undefined;

  /** `options` returns the newest options of the app. `onToken` is called with each token. */
  constructor(
    openSocket: HostEnvironment["openSocket"],
    options: () => McpWebOptions,
    onToken: (token: string | undefined) => void,
  ) {
    this.#openSocket = openSocket;
    this.#options = options;
    this.#onToken = onToken;
  }

  /** The bindings for the wasm. */
  get hostBindings() {
    return {
      token: () => this.#call(),
      openSocket: (url: string) => {
        this.#held = undefined;
        this.#socketToken = this.#token;
        this.#socket = this.#openSocket(url);
        // By then, the wasm has set its listeners.
        if (this.#called !== this.#replaced) queueMicrotask(() => this.#hold());
        return this.#socket;
      },
    };
  }

  /** Another function was set. */
  onReplaced(): void {
    this.#replaced.resolve();
    this.#replaced = deferred();
    this.#hold();
  }

  /** Returns the token of the newest function, even if that is replaced meanwhile. */
  async #call(): Promise<string> {
    const { authToken } = this.#options();
    const replaced = this.#replaced;
    const token = await Promise.race([(authToken as () => unknown)(), replaced.promise]);
    if (replaced !== this.#replaced) return this.#call();
    if (typeof token !== "string" || !token) throw new TypeError("it must return a non-empty string");
    this.#called = replaced;
    this.#onToken(token);
    return (this.#token = token);
  }

  /** Holds the socket until its token is verified. */
  #hold(): void {
    const socket = this.#socket;
    if (this.#held || !socket || socket.readyState > OPEN) return;
    this.#held = new HeldSocket(socket);
    void this.#verify(this.#held, socket);
  }

  async #verify(held: HeldSocket, socket: WebSocket): Promise<void> {
    const giveUp = (code: number) => {
      if (this.#held !== held) return;
      this.#held = undefined;
      // The token may belong to another user, who must not see it.
      this.#onToken(undefined);
      socket.close(code);
    };
    const timer = setTimeout(() => giveUp(NORMAL_CLOSE), TIMEOUT_MS);
    try {
      let replaced;
      let token = this.#socketToken;
      do {
        replaced = this.#replaced;
        const fresh = await this.#call();
        if (fresh !== token) await held.changeToken(fresh);
        token = fresh;
      } while (replaced !== this.#replaced);
      if (this.#held === held) this.#held = undefined;
      held.release();
    } catch {
      giveUp(ABANDONED_CLOSE);
    } finally {
      clearTimeout(timer);
    }
  }
}

function deferred() {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

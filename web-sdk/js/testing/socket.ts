/** The page's end of a WebSocket that never leaves the test. */

import { runInTask } from "./environment.ts";
import type { ServerSocket, Server } from "./server.ts";

/** Returns the bridge of a token. */
type FindServer = (token: string) => Promise<Server>;

/** The close code that a browser reports if a connection has ended without a close frame (RFC 6455, section 7.1.5). */
const ABNORMAL_CLOSURE = 1006;

let connectionCount = 0;

/** The part of `WebSocket` that the SDK uses. The token, and with it the bridge, is in the first frame. */
export class InMemorySocket implements ServerSocket {
  readonly connection = ++connectionCount;
  readonly url: string;
  readonly session: string;
  readonly bufferedAmount = 0;
  readyState = 0;
  onopen: ((event: object) => void) | null = null;
  onmessage: ((event: object) => void) | null = null;
  onerror: ((event: object) => void) | null = null;
  onclose: ((event: object) => void) | null = null;
  readonly #findServer: FindServer;
  #server: Server | undefined;
  /** The frames that were sent before the bridge was loaded. */
  #waiting: string[] | undefined;

  constructor(url: URL, findServer: FindServer) {
    this.url = url.href;
    this.session = url.searchParams.get("session") ?? "";
    this.#findServer = findServer;
    runInTask(() => {
      if (this.readyState !== 0) return;
      this.readyState = 1;
      this.onopen?.({ type: "open" });
    });
  }

  send(frame: string): void {
    if (this.#server) return this.#server.onFrame(this.connection, frame);
    if (this.#waiting) {
      this.#waiting.push(frame);
      return;
    }
    this.#waiting = [frame];
    // `connectTestClient` also loads the bridge, and reports why it cannot be loaded.
    this.#accept(frame).catch(() => this.closeByServer(ABNORMAL_CLOSURE));
  }

  close(code = 1000): void {
    if (this.readyState > 1) return;
    this.readyState = 3;
    this.#server?.onClose(this.connection, code);
  }

  receive(text: string): void {
    runInTask(() => {
      if (this.readyState === 1) this.onmessage?.({ type: "message", data: text });
    });
  }

  closeByServer(code: number): void {
    runInTask(() => {
      if (this.readyState > 1) return;
      this.readyState = 3;
      this.onclose?.({ type: "close", code, reason: "" });
    });
  }

  async #accept(authenticate: string): Promise<void> {
    const { authToken } = JSON.parse(authenticate) as { authToken: string };
    const server = await this.#findServer(authToken);
    if (this.readyState !== 1) return;
    this.#server = server;
    server.accept(this);
    for (const frame of this.#waiting!) server.onFrame(this.connection, frame);
  }
}

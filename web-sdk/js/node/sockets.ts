/** The sockets of a connection, so that a process that ends can wait until they are closed. */

import type { WebSocketClass } from "./options.ts";

export class Sockets {
  readonly #open = new Set<Promise<void>>();

  /** Returns a class of sockets that this object tracks. */
  track(WebSocketClass: WebSocketClass): WebSocketClass {
    const open = (url: string) => {
      const socket = new WebSocketClass(url) as WebSocket;
      let settle = () => {};
      const closed = new Promise<void>((resolve) => {
        settle = resolve;
      });
      for (const event of ["close", "error"]) socket.addEventListener(event, settle);
      this.#open.add(closed);
      void closed.then(() => this.#open.delete(closed));
      return socket;
    };
    // A function that returns an object can be used as a class.
    return function (url: string) {
      return open(url);
    } as unknown as WebSocketClass;
  }

  /** Fulfilled once no socket is open. */
  async closed(): Promise<void> {
    await Promise.all(this.#open);
  }
}

/** The state of the connection, as the app sees it. */

import type { ConnectedClient, Status } from "../types/status.ts";
import type { CoreStatus } from "./browser-restrictions.ts";
import { McpWebError } from "./error.ts";
import { type ListenerEntry, notify, subscribe } from "./listeners.ts";
import type { HandedOver } from "./page-registry.ts";

/** Status and connected clients of a `McpWeb`, their listeners, and the pending promises of `connect()`. */
export class ConnectionState {
  #status: Status = Object.freeze({ state: "idle" });
  #clients: readonly ConnectedClient[] = Object.freeze([]);
  readonly #statusListeners = new Set<ListenerEntry<Status>>();
  readonly #clientsListeners = new Set<ListenerEntry<readonly ConnectedClient[]>>();
  readonly #waiting: HandedOver["waiting"] = [];
  #isReplaced = false;

  get status(): Status {
    return this.#status;
  }

  get clients(): readonly ConnectedClient[] {
    return this.#clients;
  }

  /** Whether the `McpWeb` of a newer copy of the SDK has replaced this one. Its state no longer changes. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  onStatusChange(listener: (status: Status) => void): () => void {
    return subscribe(this.#statusListeners, listener, "onStatusChange");
  }

  onClientsChange(listener: (clients: readonly ConnectedClient[]) => void): () => void {
    return subscribe(this.#clientsListeners, listener, "onClientsChange");
  }

  /** Sets the status, and settles the promises of `connect()` if it is a lasting one. A failure without such a promise is logged. */
  setStatus(status: Status): void {
    if (this.#isReplaced) return;
    this.#status = Object.freeze(status);
    const { state, error } = status as CoreStatus;
    if (/^(connected|failed|disconnected)$/.test(state)) {
      const settled = this.#waiting.splice(0);
      const reason = error ?? new McpWebError("Disconnected", "disconnect() was called");
      for (const { resolve, reject } of settled) state === "connected" ? resolve() : reject(reason);
      if (state === "failed" && !settled.length) console.error(`mcp-web: ${reason.message}`);
    }
    notify(this.#statusListeners, this.#status);
  }

  setClients(clients: ConnectedClient[]): void {
    if (this.#isReplaced) return;
    this.#clients = Object.freeze(clients);
    notify(this.#clientsListeners, this.#clients);
  }

  /** Returns a promise that settles with the next lasting status. */
  nextLasting(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /**
   * Ends with the status `disconnected`, without notifying listeners. Returns the data for the `McpWeb` that replaces it.
   */
  handOver() {
    this.#isReplaced = true;
    // The wasm may still be loading. It then does not connect.
    this.#status = Object.freeze({ state: "disconnected" });
    return {
      waiting: this.#waiting,
      notify: {
        status: (status: Status) => notify(this.#statusListeners, status),
        clients: (clients: readonly ConnectedClient[]) => notify(this.#clientsListeners, clients),
      },
    };
  }
}

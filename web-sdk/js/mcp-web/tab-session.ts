/**
 * Which session this tab is, and which queries it has sent: the same after a reload, another in a tab that was duplicated
 * or opened from it.
 */

import type { McpWebOptions } from "../types/options.ts";
import { randomHex } from "./random.ts";
import { openStorage } from "./storage.ts";

/**
 * The id of this tab's session, and its queries. While the document lives, they are not in the storage, which browsers
 * copy into a tab that is duplicated or opened from this one. They are in the storage from one document to the next, and
 * while the document may be thrown away: browsers discard frozen tabs without an event.
 */
export class TabSession {
  /** Whether the app has given the id, which is used as it is. */
  readonly given: boolean;
  id: string;
  /** The uuids of queries that have not ended, as far as this tab knows: also those of the document before. */
  readonly queries: Set<string>;
  #store: Storage | undefined;
  readonly #key: string;

  constructor({ name, sessionId, sessionName, storage }: McpWebOptions, bridge: string) {
    this.given = sessionId !== undefined;
    this.#key = `mcp-web:session:${bridge}:${name}${sessionName ? `:${sessionName}` : ""}`;
    this.#store = openStorage(storage === "none" ? storage : "session");
    const [stored, ...queries] = this.#take();
    this.id = sessionId ?? (stored || randomHex());
    this.queries = new Set(queries);
    if (!this.#store) return;
    // Events of the document do not bubble.
    const on = <Type extends keyof WindowEventMap>(event: Type, listener: (event: WindowEventMap[Type]) => void) =>
      addEventListener(event, listener, true);
    for (const event of ["pagehide", "freeze"] as const) on(event as "pagehide", () => this.#put());
    on("resume" as "pageshow", () => this.#take());
    on("pageshow", ({ persisted }) => persisted && this.#take());
  }

  /** Gives this tab another id, because another tab has taken its session over. */
  renew(): string {
    this.queries.clear();
    return (this.id = randomHex());
  }

  /** Leaves the session to another object of this document. Returns whether that finds it in the storage. */
  release(): boolean {
    this.#put();
    const isStored = Boolean(this.#store);
    this.#store = undefined;
    return isStored;
  }

  /** Removes what is in the storage, and returns it. */
  #take(): string[] {
    try {
      const stored = this.#store?.getItem(this.#key);
      this.#store?.removeItem(this.#key);
      return stored?.split(" ") ?? [];
    } catch {
      // Storage that throws is treated like storage that is missing.
      return [];
    }
  }

  /** Of several connections with one name in a document, the first is the one that continues. */
  #put(): void {
    try {
      if (this.given && !this.queries.size) return;
      const stored = [this.given ? "" : this.id, ...this.queries].join(" ");
      this.#store?.getItem(this.#key) ?? this.#store?.setItem(this.#key, stored);
    } catch {
      // The next document is then another session.
    }
  }
}

/**
 * The session of this tab and the queries that it has sent: the same after a reload, and new ones in a tab that was
 * duplicated or opened from it.
 */

import type { McpWebOptions } from "../types/options.ts";
import { randomHex } from "./random.ts";
import { openStorage } from "./storage.ts";

/**
 * The id of this tab's session, and its queries. While the document is active, they are not in the storage, which browsers
 * copy into a tab that is duplicated or opened from this one. They are in the storage between two documents, and while the
 * document may be discarded: browsers discard frozen tabs without an event.
 */
export class TabSession {
  /** Whether the app has set the id, which is then used unchanged. */
  readonly given: boolean;
  id: string;
  /** The uuids of queries that have not ended, as far as this tab knows, including those of the previous document. */
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

  /** Generates a new id for this tab, because another tab has taken over its session. */
  renew(): string {
    this.queries.clear();
    return (this.id = randomHex());
  }

  /** Leaves the session to another object of this document. Returns whether that object will find it in the storage. */
  release(): boolean {
    this.#put();
    const isStored = Boolean(this.#store);
    this.#store = undefined;
    return isStored;
  }

  /** Removes the stored data, and returns it. */
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

  /** If a document has several connections with one name, the first one continues the session. */
  #put(): void {
    try {
      if (this.given && !this.queries.size) return;
      const stored = [this.given ? "" : this.id, ...this.queries].join(" ");
      this.#store?.getItem(this.#key) ?? this.#store?.setItem(this.#key, stored);
    } catch {
      // In that case, the next document is another session.
    }
  }
}

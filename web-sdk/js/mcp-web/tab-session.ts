/**
 * Which session this tab is, and what it has asked agents: the same after a reload, another in a tab that was duplicated
 * or opened from it.
 */

import { randomHex } from "./environment.js";
import { storageNamed } from "./storage.js";

/** Enough for ids that never meet by chance. */
const ID_BYTES = 16;

/**
 * The id of this tab's session, and its queries. While the document lives, they are not in the storage, which browsers
 * copy into a tab that is duplicated or opened from this one. They lie there from one document to the next, and while the
 * document may be thrown away: browsers discard frozen tabs without a word.
 */
export class TabSession {
  #store;
  #key;
  id;
  /** The uuids of queries that have not ended, as far as this tab knows: also those of the document before. */
  queries;

  /** `given`: the app's own id, which is used as it is. */
  constructor({ name, sessionId: given, sessionName, storage }, bridge) {
    this.given = given !== undefined;
    this.#key = `mcp-web:session:${bridge}:${name}${sessionName ? `:${sessionName}` : ""}`;
    this.#store = storageNamed(storage === "none" ? storage : "session");
    const [kept, ...queries] = this.#take();
    this.id = given ?? (kept || randomHex(ID_BYTES));
    this.queries = new Set(queries);
    if (!this.#store) return;
    // Those of the document do not bubble.
    const on = (event, listener) => addEventListener(event, listener, true);
    for (const away of ["pagehide", "freeze"]) on(away, () => this.#put());
    on("resume", () => this.#take());
    on("pageshow", ({ persisted }) => persisted && this.#take());
  }

  /** Another tab is the session now. */
  renew() {
    this.queries.clear();
    return (this.id = randomHex(ID_BYTES));
  }

  /** What lies there, away with it. */
  #take() {
    try {
      const kept = this.#store?.getItem(this.#key);
      this.#store?.removeItem(this.#key);
      return kept?.split(" ") ?? [];
    } catch {
      // Storage that throws is storage that is not there.
      return [];
    }
  }

  /** Of several connections with one name in a document, the first is the one that goes on. */
  #put() {
    try {
      if (this.given && !this.queries.size) return;
      const kept = [this.given ? "" : this.id, ...this.queries].join(" ");
      this.#store.getItem(this.#key) ?? this.#store.setItem(this.#key, kept);
    } catch {
      // The next document is then another session.
    }
  }
}

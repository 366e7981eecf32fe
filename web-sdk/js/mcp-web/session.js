/** Which session this tab is: the same after a reload, another in a tab that was duplicated or opened from it. */

import { randomHex } from "./environment.js";
import { storageNamed } from "./storage.js";

/** Enough for ids that never meet by chance. */
const ID_BYTES = 16;

/**
 * The id of this tab's session. While the document lives, the id is not in the storage, which browsers copy into a tab
 * that is duplicated or opened from this one. It lies there from one document to the next, and while the document may be
 * thrown away: browsers discard frozen tabs without a word.
 */
export class TabSession {
  #store;
  #key;
  id;

  /** `given`: the app's own id, which is used as it is. */
  constructor({ name, sessionId: given, sessionName, storage }, bridge) {
    this.given = given !== undefined;
    this.#key = `mcp-web:session:${bridge}:${name}${sessionName ? `:${sessionName}` : ""}`;
    if (!this.given && storage !== "none") this.#store = storageNamed("session");
    this.id = given ?? this.#take() ?? randomHex(ID_BYTES);
    if (!this.#store) return;
    // Those of the document do not bubble.
    const on = (event, listener) => addEventListener(event, listener, true);
    for (const away of ["pagehide", "freeze"]) on(away, () => this.#put());
    on("resume", () => this.#take());
    on("pageshow", ({ persisted }) => persisted && this.#take());
  }

  /** Another tab is the session now. */
  renew() {
    return (this.id = randomHex(ID_BYTES));
  }

  /** What lies there, away with it. */
  #take() {
    try {
      const kept = this.#store?.getItem(this.#key);
      this.#store?.removeItem(this.#key);
      return kept || undefined;
    } catch {
      // Storage that throws is storage that is not there.
    }
  }

  /** Of several connections with one name in a document, the first is the one that goes on. */
  #put() {
    try {
      this.#store.getItem(this.#key) ?? this.#store.setItem(this.#key, this.id);
    } catch {
      // The next document is then another session.
    }
  }
}

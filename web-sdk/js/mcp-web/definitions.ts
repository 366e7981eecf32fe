/** All that the app offers, and what becomes of it. */

import { adviseOnDefinition } from "./advice.js";
import { checked } from "./checks.js";
import { Entry, HANDLES } from "./definition.js";
import { McpWebError } from "./error.js";
import { tellSubscribed } from "./subscriptions.js";

export class Definitions {
  /** Everything that was added and not removed: key → Entry, in order of adding. */
  #entries = new Map();
  #nextKey = 1;
  /** The URIs that clients are subscribed to. */
  #subscribed = new Set();
  #connection;
  #page;

  /** `page`: `importAdvice()`, `resourceUpdated(uri)`, and `failure()`, why there is no connection to be had. */
  constructor(page) {
    this.#page = page;
  }

  get all() {
    return [...this.#entries.values()];
  }

  get(key) {
    return this.#entries.get(key);
  }

  /** The wasm is there. */
  connectThrough(connection) {
    this.#connection = connection;
    for (const entry of this.all) this.#register(entry);
  }

  /** The wasm cannot be had. */
  unavailable(error) {
    for (const entry of this.all) entry.unavailable(error);
  }

  add(kind, definition, { signal } = {}) {
    const { id, json } = checked(kind, definition);
    const entry = new Entry(this.#nextKey++, kind, id, definition, json);
    const handle = new HANDLES[kind](entry, {
      update: (entry, changes) => this.#update(entry, changes),
      remove: (entry) => this.#remove(entry),
      resourceUpdated: this.#page.resourceUpdated,
    });
    if (signal?.aborted) {
      entry.dropped();
      entry.gone();
      return handle;
    }
    signal?.addEventListener("abort", () => handle.remove(), { once: true });
    adviseOnDefinition(this.#page.importAdvice, kind, json);
    this.#keep(entry);
    this.#register(entry);
    return handle;
  }

  /** Until the wasm is there, what is known by the same name is replaced here; its place stays the same. */
  #keep(entry) {
    const twin = this.all.find(({ kind, id }) => kind === entry.kind && id === entry.id);
    if (twin && !this.#connection) {
      twin.dropped();
      twin.gone();
      this.#rekey(twin.key, entry);
    } else {
      this.#entries.set(entry.key, entry);
    }
  }

  /** Puts the entry, under its key, where the other key was. */
  #rekey(former, entry) {
    this.#entries = new Map([...this.#entries].map((pair) => (pair[0] === former ? [entry.key, entry] : pair)));
  }

  #register(entry) {
    if (this.#connection) return this.#connection.add(entry.key, entry.kind, entry.id, entry.json);
    const failure = this.#page.failure();
    if (failure) entry.unavailable(failure);
  }

  /** A changed definition has a key of its own, so that late news about the former cannot be taken for its. */
  #update(entry, changes) {
    const definition = { ...entry.definition, ...changes };
    const { id, json } = checked(entry.kind, definition);
    if (id !== entry.id) {
      throw new TypeError(`update() cannot make "${id}" of ${entry.kind} "${entry.id}": remove it, and add the other`);
    }
    const former = entry.key;
    if (!this.#entries.has(former)) {
      return Promise.reject(new McpWebError("Removed", `${entry.kind} "${id}" was removed or replaced`));
    }
    const registered = entry.changed(this.#nextKey++, definition, json);
    this.#rekey(former, entry);
    adviseOnDefinition(this.#page.importAdvice, entry.kind, json);
    this.#register(entry);
    return registered;
  }

  #remove(entry) {
    if (this.#connection) return this.#connection.remove(entry.key);
    this.#entries.delete(entry.key);
    entry.dropped();
    entry.gone();
  }

  /** What the wasm tells of definitions. */
  get host() {
    return {
      subscriptions: (uris) => {
        this.#subscribed = new Set(uris ?? []);
        tellSubscribed(this.#entries.values(), this.#subscribed);
      },
      registered: (key, publishedName) => {
        const entry = this.#entries.get(key);
        if (!entry) return;
        entry.registered(publishedName);
        tellSubscribed([entry], this.#subscribed);
      },
      refused: (key, code, message) => this.#entries.get(key)?.refused(new McpWebError(code, message)),
      dropped: (key) => this.#entries.get(key)?.dropped(),
      removed: (key) => {
        const entry = this.#entries.get(key);
        this.#entries.delete(key);
        if (!entry) return;
        tellSubscribed([entry], new Set());
        entry.gone();
      },
    };
  }
}

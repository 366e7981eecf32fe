/** What an app offers (a tool, prompt, resource or template), and what becomes of it. */

import { McpWebError } from "./error.js";

const dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

/** What became of one added definition. Its promises are made to be ignored without harm. */
export class Entry {
  publishedName;
  /** Why the bridge does not take it. */
  refusal;
  /** Whether a client is subscribed to it; only resources can be. */
  subscribed = false;
  #registration = settleable();
  #removal = settleable();
  #watched = false;

  constructor(key, kind, id, definition, json) {
    Object.assign(this, { key, kind, id, definition, json });
  }

  get whenRegistered() {
    this.#watched = true;
    return this.#registration.promise;
  }

  get whenRemoved() {
    return this.#removal.promise;
  }

  registered(publishedName) {
    this.refusal = undefined;
    this.publishedName = publishedName;
    this.#registration.resolve();
  }

  refused(error) {
    this.refusal = error;
    this.#registration.reject(error);
    if (!this.#watched) console.error(`mcp-web: ${this.kind} "${this.id}" is not registered: ${error.message}`);
  }

  /** Nothing can be registered; the status says why, once for all. */
  unavailable(error) {
    this.#registration.reject(error);
  }

  dropped() {
    this.publishedName = undefined;
    this.#registration.reject(
      new McpWebError("Removed", `${this.kind} "${this.id}" was removed or replaced before it was registered`),
    );
  }

  gone() {
    this.#removal.resolve();
  }

  /** The same with another definition, which is registered anew. */
  changed(key, definition, json) {
    const former = this.#registration;
    this.#registration = settleable();
    this.#registration.promise.then(former.resolve, former.reject);
    this.#watched = false;
    Object.assign(this, { key, definition, json });
    return this.#registration.promise;
  }
}

/** What the app holds of a definition. */
export class Handle {
  #entry;
  #page;
  #removed = false;

  constructor(entry, page) {
    this.#entry = entry;
    this.#page = page;
  }

  get publishedName() {
    return this.#entry.publishedName;
  }

  get registered() {
    return this.#entry.whenRegistered;
  }

  update(changes) {
    return this.#page.update(this.#entry, changes);
  }

  remove() {
    if (!this.#removed) this.#page.remove(this.#entry);
    this.#removed = true;
    return this.#entry.whenRemoved;
  }

  [dispose]() {
    this.remove();
  }
}

class NamedHandle extends Handle {
  constructor(entry, page) {
    super(entry, page);
    this.name = entry.id;
  }
}

class ResourceHandle extends Handle {
  #entry;
  #page;

  constructor(entry, page) {
    super(entry, page);
    this.#entry = entry;
    this.#page = page;
    this.uri = entry.id;
  }

  get subscribed() {
    return this.#entry.subscribed;
  }

  notifyUpdated() {
    this.#page.resourceUpdated(this.uri);
  }
}

class ResourceTemplateHandle extends Handle {
  #page;

  constructor(entry, page) {
    super(entry, page);
    this.#page = page;
    this.uriTemplate = entry.id;
  }

  notifyUpdated(uri) {
    this.#page.resourceUpdated(uri);
  }
}

export const HANDLES = {
  tool: NamedHandle,
  prompt: NamedHandle,
  resource: ResourceHandle,
  "resource-template": ResourceTemplateHandle,
};

/** A promise that can be settled from outside, and that nobody has to listen to. */
function settleable() {
  let settle;
  const promise = new Promise((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}

/** What one handler asks the client behind its call. */

import { McpWebError } from "./error.js";

/** The most requests of one call that may wait for an answer at a time. */
const MAX_OPEN = 16;

export class ClientRequests {
  #send;
  /** Those without an answer: key → how to settle them. */
  #open = new Map();
  /** Every key of this call: the client's answers are matched by them. */
  #used = new Set();
  #counts = {};
  #over;

  constructor(send) {
    this.#send = send;
  }

  /** `what` names the key unless the app does: the same handler run again asks the same under the same key. */
  ask(what, key, method, params) {
    const number = (this.#counts[what] = (this.#counts[what] ?? 0) + 1);
    key ??= `${what}-${number}`;
    if (typeof key !== "string" || !key) throw new TypeError("key must be a non-empty string");
    if (this.#over) throw this.#over;
    if (this.#used.has(key)) throw new TypeError(`the call has asked under the key "${key}" already: keys are unique`);
    if (this.#open.size >= MAX_OPEN) {
      throw new McpWebError("ClientRequestFailed", `${MAX_OPEN} requests of this call wait for the client: await some of them`);
    }
    const json = JSON.stringify(params);
    this.#used.add(key);
    return new Promise((resolve, reject) => {
      this.#open.set(key, { resolve, reject });
      this.#send(key, method, json);
    });
  }

  answered(key, { result, error }) {
    if (error) return this.refused(key, failure(error));
    this.#take(key)?.resolve(result ?? {});
  }

  refused(key, error) {
    this.#take(key)?.reject(error);
  }

  ended(reason) {
    this.#over = reason ?? new McpWebError("ClientRequestFailed", "the call is over: nobody is there to ask");
    for (const key of [...this.#open.keys()]) this.refused(key, this.#over);
  }

  #take(key) {
    const open = this.#open.get(key);
    this.#open.delete(key);
    return open;
  }
}

function failure({ code, message, data }) {
  const error = new McpWebError(code, message);
  if (data !== undefined && data !== null) error.data = data;
  return error;
}

/** All queries of a page, over the connections that it has one after the other. */

import { questionOf } from "./question.js";
import { Run } from "./run.js";

export class Queries {
  #page;
  #session;
  #port;
  /** Those that have not ended, by their uuids. */
  #runs = new Map();
  /** Cancellations that no bridge has heard: uuid → text. */
  #unheard = new Map();

  /** `page`: the `McpWeb`; `session`: this tab's; `port`: what else queries may use of the page. */
  constructor(page, session, port) {
    this.#page = page;
    this.#session = session;
    this.#port = { ...port, wrong: (...what) => this.#wrong(...what) };
    page.onStatusChange((status) => this.#statusChanged(status));
  }

  /** `options` as the app has passed them, `json` as they were then. */
  ask(uuid, options, json, signal) {
    const run = this.#begin(uuid, signal);
    if (run.over) return run;
    questionOf(options, JSON.parse(json), this.#port, run.signal).then(
      (question) => {
        run.ready(question);
        this.#say(run);
      },
      (error) => run.failed(error),
    );
    return run;
  }

  /** What another document of this tab has asked, or this one. */
  attach(uuid, signal) {
    const known = this.#runs.get(uuid);
    known?.endsWith(signal);
    if (known) return known;
    const run = this.#begin(uuid, signal);
    run.attaches();
    this.#say(run);
    return run;
  }

  #begin(uuid, signal) {
    const run = new Run(uuid, this.#port.McpWebError, {
      accepted: () => this.#session.queries.add(uuid),
      cancelled: (reason) => this.#cancel(run, reason),
      ended: () => {
        this.#runs.delete(uuid);
        this.#session.queries.delete(uuid);
      },
    });
    this.#runs.set(uuid, run);
    run.endsWith(signal);
    const { state, error } = this.#page.status;
    if (state === "failed") run.failed(error);
    if (state === "disconnected") run.failed(this.#error("Disconnected", "the page is disconnected: connect() first"));
    return run;
  }

  /** A message of the bridge about a query. */
  heard(message) {
    this.#runs.get(message.uuid)?.heard(message);
  }

  /** The app wants to be disconnected. */
  leave() {
    const error = this.#error("Disconnected", "disconnect() was called");
    for (const run of [...this.#runs.values()]) run.cancel(error.message, error);
  }

  #statusChanged({ state, error }) {
    if (state === "connected") return this.#connected();
    const runs = [...this.#runs.values()];
    // The bridge knows them as those of a session that belongs to another tab now.
    const isAnother = error?.code === "SessionSuperseded";
    for (const run of runs) {
      if (state === "failed" || (isAnother && run.told)) run.failed(error);
      run.said = false;
    }
  }

  #connected() {
    for (const [uuid, text] of this.#unheard) if (this.#port.send(text)) this.#unheard.delete(uuid);
    for (const run of [...this.#runs.values()]) this.#say(run);
  }

  /** Says what this connection has to hear of the query, once. */
  #say(run) {
    const message = this.#page.status.state === "connected" && !run.said && run.message();
    if (!message) return;
    const json = JSON.stringify(message);
    const [bytes, most] = [new TextEncoder().encode(json).length, this.#port.maxBytes()];
    if (most && bytes > most) return run.failed(this.#tooLarge(bytes, most));
    run.said = this.#port.send(json);
    if (!run.said) return;
    run.told = true;
    this.#session.queries.add(run.uuid);
  }

  /** The bridge has to hear it, if it has heard of the query. */
  #cancel(run, reason) {
    if (!run.told) return;
    const json = JSON.stringify({ type: "query_cancel", uuid: run.uuid, reason });
    const isHeard = this.#page.status.state === "connected" && this.#port.send(json);
    if (!isHeard) this.#unheard.set(run.uuid, json);
  }

  #tooLarge(bytes, most) {
    const what = `the query has ${bytes} bytes, and the bridge takes ${most}`;
    return this.#wrong("QueryTooLarge", what, "send less context, or add a tool that the agent can ask for it");
  }

  #wrong(code, what, remedy, options) {
    const error = new this.#port.McpWebError(code, `${what}: ${remedy}`, options);
    return Object.assign(error, { remedy });
  }

  #error(code, message) {
    return new this.#port.McpWebError(code, message);
  }
}

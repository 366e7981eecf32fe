/** One query, from what the app asks to its end. */

import { answerOf, failureOf } from "./ending.js";
import { Events } from "./events.js";

/** Browsers fire a timer that is longer at once. */
const LONGEST_MS = 2 ** 31 - 1;

export class Run {
  state = "waiting";
  /** Whether this connection has carried the query. */
  said = false;
  /** Whether a bridge may have heard of it. */
  told = false;
  #page;
  #Error;
  #events = new Events();
  /** Fires when the query is over: nothing is put together for it any more. */
  #controller = new AbortController();
  /** What to ask; nothing as long as its context is being put together. */
  #question;
  #attaches = false;
  #deadline;
  #timer;
  /** The number of the latest progress. */
  #number = 0;
  #settle;

  /** `page`: `accepted()`, `cancelled(reason)` when the app or its signal ends it, `ended()` however it does. */
  constructor(uuid, McpWebError, page) {
    this.uuid = uuid;
    this.#Error = McpWebError;
    this.#page = page;
    this.result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.result.catch(() => {});
  }

  get over() {
    return this.#controller.signal.aborted;
  }

  get signal() {
    return this.#controller.signal;
  }

  /** What it tells of its progress, from the beginning as far as that is kept. Throws what `result` is rejected with. */
  events() {
    return this.#events.all();
  }

  // What the page does.

  ready(question) {
    if (this.over) return;
    this.#question = question;
    if (question.timeout === undefined) return;
    this.#deadline = performance.now() + question.timeout;
    this.#timer = setTimeout(() => this.#tooLate(), Math.min(question.timeout, LONGEST_MS));
  }

  /** Another document has asked. */
  attaches() {
    this.#attaches = true;
  }

  /** What a new connection has to hear. A bridge that has taken the query must not be asked twice. */
  message() {
    const { uuid } = this;
    if (this.#attaches) return { type: "query_attach", uuid };
    if (!this.#question || this.#deadline === undefined) return this.#question && { type: "query", uuid, ...this.#question };
    const timeout = Math.max(1, Math.round(this.#deadline - performance.now()));
    return { type: "query", uuid, ...this.#question, timeout };
  }

  endsWith(signal) {
    if (!signal) return;
    const abort = () => this.cancel(wordsOf(signal.reason), signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true, signal: this.signal });
  }

  cancel(reason, error = new this.#Error("QueryCancelled", wordsOf(reason) ?? "the page has cancelled the query")) {
    if (this.over) return;
    this.#page.cancelled(wordsOf(reason));
    this.#end("cancelled", error);
  }

  failed(error) {
    this.#end("failed", error);
  }

  // What the bridge says.

  heard(message) {
    const { type, content, number, reason } = message;
    if (type === "query_accepted") this.#accepted();
    else if (type === "query_progress") this.#progressed(content, number);
    else if (type === "query_complete") this.#end("complete", undefined, answerOf(message, this.#question));
    else if (type === "query_failure") this.failed(failureOf(message, this.#Error));
    else if (type === "query_cancel") this.#end("cancelled", new this.#Error("QueryCancelled", reason ?? "the agent has given the query up"));
  }

  #accepted() {
    clearTimeout(this.#timer);
    this.state = "running";
    this.#attaches = true;
    this.#page.accepted();
  }

  /** What comes back after a broken connection may have been heard before. */
  #progressed(content, number) {
    if (number <= this.#number) return;
    this.#number = number ?? this.#number;
    this.#events.push(content);
  }

  /** Nobody has taken it in its time; once it is taken, the bridge looks after that. */
  #tooLate() {
    const { timeout } = this.#question;
    const message = `no agent took the query within ${timeout} ms: see mcpWeb.status, and whether the bridge has an agent`;
    this.#page.cancelled("it took too long");
    this.failed(new this.#Error("QueryTimeout", message));
  }

  #end(state, error, answer) {
    if (this.over) return;
    clearTimeout(this.#timer);
    this.state = state;
    this.#controller.abort(error);
    this.#page.ended();
    this.#events.end(error);
    error === undefined ? this.#settle.resolve(answer) : this.#settle.reject(error);
  }
}

/** A reason as a text for the bridge. */
function wordsOf(reason) {
  if (reason === undefined || reason === null) return undefined;
  return String(reason.message ?? reason);
}

/** One query, from its start to its end. */

import type { McpWebError } from "../mcp-web/error.ts";
import type { Query, QueryEvent, QueryResult } from "../types/query.ts";
import type { McpWebOptions } from "../types/options.ts";
import { Approvals, type RequestApproval } from "./approvals.ts";
import { QueryEvents } from "./events.ts";
import type { McpWebErrorConstructor } from "../mcp-web/error.ts";
import { MAX_TIMER_MS, type QueryMessage } from "./messages.ts";
import type { QueryRequest } from "./query-request.ts";
import { parseQueryFailure, parseQueryResult } from "./query-result.ts";

/** The callbacks of a query to the page. */
export interface QueryRunPage {
  onAccepted(): void;
  /** The user has answered a request for approval. */
  onApproved(id: string, approved: boolean): void;
  /** Asks the user of the page in a dialog. */
  requestApproval: RequestApproval;
  /** Returns how approvals are requested. */
  approvals(): McpWebOptions["approvals"];
  /** The app or its signal has cancelled the query. */
  onCancelled(reason: string | undefined): void;
  /** The query has ended in any way. */
  onEnded(): void;
}

export class QueryRun {
  readonly uuid: string;
  state: Query["state"] = "waiting";
  /** Whether the query was sent on this connection. */
  isSent = false;
  /** Whether a bridge may know the query. */
  mayBeKnown = false;
  /**
   * Whether the SDK asks about calls that need approval. If the app does not decide, the SDK does until the app reads the
   * events.
   */
  approvalDialog: boolean | undefined;
  readonly result: Promise<QueryResult>;
  readonly #page: QueryRunPage;
  readonly #McpWebError: McpWebErrorConstructor;
  readonly #events = new QueryEvents();
  readonly #approvals: Approvals;
  /** Whether the app has begun to read the events. */
  #isRead = false;
  /** Fires when the query has ended, so that its context is no longer collected. */
  readonly #controller = new AbortController();
  /** The fields of the message; `undefined` while the context is being collected. */
  #request: QueryRequest | undefined;
  #parseValue: ((value: unknown) => Promise<unknown>) | undefined;
  #isAttached = false;
  #deadline: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The number of the latest progress. */
  #number = 0;
  #settle!: { resolve: (result: QueryResult) => void; reject: (reason: unknown) => void };

  constructor(uuid: string, McpWebError: McpWebErrorConstructor, page: QueryRunPage) {
    this.uuid = uuid;
    this.#McpWebError = McpWebError;
    this.#page = page;
    this.#approvals = new Approvals(page.requestApproval, (id, approved) => this.#answer(id, approved));
    this.result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.result.catch(() => {});
  }

  get hasEnded(): boolean {
    return this.#controller.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Yields the progress from the beginning, as far as it is stored. Throws the error that `result` is rejected with. */
  events(): AsyncGenerator<QueryEvent, void, undefined> {
    this.#isRead = true;
    return this.#events.all();
  }

  // The methods that the page calls.

  setRequest(request: QueryRequest, parseValue?: (value: unknown) => Promise<unknown>): void {
    if (this.hasEnded) return;
    this.#request = request;
    this.#parseValue = parseValue;
    if (request.timeout === undefined) return;
    this.#deadline = performance.now() + request.timeout;
    this.#timer = setTimeout(() => this.#onTimeout(), Math.min(request.timeout, MAX_TIMER_MS));
  }

  /** Attaches to the query, which another document has sent. */
  attach(): void {
    this.#isAttached = true;
  }

  /** Returns the message for a new connection. A query that a bridge has accepted must not be sent again. */
  message(): object | undefined {
    const { uuid } = this;
    if (this.#isAttached) return { type: "query_attach", uuid };
    if (!this.#request || this.#deadline === undefined) return this.#request && { type: "query", uuid, ...this.#request };
    const timeout = Math.max(1, Math.round(this.#deadline - performance.now()));
    return { type: "query", uuid, ...this.#request, timeout };
  }

  cancelWith(signal: AbortSignal | undefined): void {
    if (!signal) return;
    const abort = () => this.cancel(reasonText(signal.reason), signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true, signal: this.signal });
  }

  cancel(
    reason?: unknown,
    error: unknown = new this.#McpWebError("QueryCancelled", reasonText(reason) ?? "the page has cancelled the query"),
  ): void {
    if (this.hasEnded) return;
    this.#page.onCancelled(reasonText(reason));
    this.#end("cancelled", error);
  }

  /** Sends the answer of the app. @throws McpWebError if it allows a call on the person's behalf. */
  approve(id: string, approved = true): void {
    if (approved && this.#page.approvals() !== "app" && !this.hasEnded && !this.#approvals.isAnsweredByPerson(id)) {
      const message = `the person at the page has not allowed the call: call approve() in the handler of a click or a key, or give new McpWeb() the option approvals: "app"`;
      throw new this.#McpWebError("PersonRequired", message);
    }
    this.#answer(id, approved);
  }

  #answer(id: string, approved: boolean): void {
    this.#approvals.close(id);
    if (!this.hasEnded) this.#page.onApproved(id, approved);
  }

  fail(error: unknown): void {
    this.#end("failed", error);
  }

  // The messages of the bridge.

  onMessage(message: QueryMessage): void {
    const { type, content, number, reason } = message;
    if (type === "query_accepted") this.#onAccepted();
    else if (type === "query_progress") this.#onProgress(content, number as number | undefined);
    else if (type === "query_complete") void this.#onComplete(parseQueryResult(message, this.#request));
    else if (type === "query_failure") this.fail(parseQueryFailure(message, this.#McpWebError));
    else if (type === "query_cancel") {
      this.#end("cancelled", new this.#McpWebError("QueryCancelled", (reason as string | undefined) ?? "the agent has given the query up"));
    }
  }

  /** The library of the schema validates the answer. */
  async #onComplete(result: QueryResult): Promise<void> {
    try {
      if (this.#parseValue) result.value = await this.#parseValue(result.value);
      this.#end("complete", undefined, result);
    } catch (error) {
      this.fail(error);
    }
  }

  #onAccepted(): void {
    clearTimeout(this.#timer);
    this.state = "running";
    this.#isAttached = true;
    this.#page.onAccepted();
  }

  /** Events that are sent again after a broken connection may have been received before. */
  #onProgress(content: unknown, number: number | undefined): void {
    if (number !== undefined && number <= this.#number) return;
    this.#number = number ?? this.#number;
    const asker = (this.approvalDialog ?? !this.#isRead) ? "dialog" : this.#page.approvals() === "app" ? "app" : "person";
    this.#approvals.onEvent(this.#events.push(content), asker);
  }

  /** No agent has accepted the query in time. Once it is accepted, the bridge runs the timer. */
  #onTimeout(): void {
    const timeout = this.#request?.timeout;
    const message = `no agent took the query within ${timeout} ms: see mcpWeb.status, and whether the bridge has an agent`;
    this.#page.onCancelled("it took too long");
    this.fail(new this.#McpWebError("QueryTimeout", message));
  }

  #end(state: Query["state"], error: unknown, result?: QueryResult): void {
    if (this.hasEnded) return;
    clearTimeout(this.#timer);
    this.state = state;
    this.#controller.abort(error);
    this.#approvals.closeAll();
    this.#page.onEnded();
    this.#events.end(error);
    error === undefined ? this.#settle.resolve(result!) : this.#settle.reject(error as McpWebError);
  }
}

/** Returns a reason as a text for the bridge. */
function reasonText(reason: unknown): string | undefined {
  if (reason === undefined || reason === null) return undefined;
  return String((reason as { message?: unknown }).message ?? reason);
}

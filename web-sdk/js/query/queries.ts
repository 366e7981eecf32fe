/** All queries of a page, across its successive connections. */

import type { McpWebError } from "../mcp-web/error.ts";
import type { McpWebErrorCode } from "../types/error-codes.ts";
import type { AttachOptions, QueryOptions, QuerySignal } from "../types/query.ts";
import type { Status } from "../types/status.ts";
import type { QueriesPort, QueryMessage } from "./messages.ts";
import { Conversations, type ConversationsPage } from "./conversations.ts";
import { type RequestPort, buildQueryRequest } from "./query-request.ts";
import { QueryRun } from "./query-run.ts";

/** The part of `McpWeb` that queries use. */
export interface QueriesPage extends ConversationsPage {
  readonly status: Status;
  onStatusChange(listener: (status: Status) => void): void;
}

/** The session of the tab, which stores its queries for the next document. */
export interface QueriesSession {
  readonly queries: Set<string>;
}

export class Queries {
  readonly #page: QueriesPage;
  readonly #session: QueriesSession;
  readonly #port: QueriesPort & RequestPort;
  /** The queries that have not ended, by their uuids. */
  readonly #runs = new Map<string, QueryRun>();
  /** Cancellations that could not be sent yet, by uuid. */
  readonly #unsentCancellations = new Map<string, string>();
  /** Answers to requests for approval that could not be sent yet, in order, by uuid. */
  readonly #unsentAnswers = new Map<string, string[]>();

  constructor(page: QueriesPage, session: QueriesSession, port: QueriesPort) {
    this.#page = page;
    this.#session = session;
    this.#port = { ...port, createError: (code, what, remedy, options) => this.#createError(code, what, remedy, options) };
    page.onStatusChange((status) => this.#onStatusChange(status));
  }

  /** The conversations that the agent stores for this user and app. */
  get conversations(): Conversations {
    return new Conversations(this.#page, this.#port.createError);
  }

  get isIdle(): boolean {
    return !this.#runs.size;
  }

  /** `options` are those that the app has passed, and `json` is their content at that time. */
  start(uuid: string, options: QueryOptions, json: string, { signal }: QuerySignal = {}): QueryRun {
    const run = this.#create(uuid, signal);
    if (run.hasEnded) return run;
    const given = JSON.parse(json);
    run.approvalDialog = given.approvalDialog ?? undefined;
    buildQueryRequest(options as object, given, this.#port, run.signal).then(
      (request) => {
        run.setRequest(request, this.#valueParser(options));
        this.#send(run);
      },
      (error) => run.fail(error),
    );
    return run;
  }

  /** Returns a function that passes the answer through the library of `responseSchema`. */
  #valueParser({ responseSchema }: QueryOptions) {
    const subject = "the answer does not fit responseSchema";
    return responseSchema && ((value: unknown) => this.#port.parseWith(responseSchema, value, "ModelAnswerInvalid", subject));
  }

  /** Attaches to a query that another document of this tab has sent, or this one. */
  attach(uuid: string, { signal, approvalDialog }: AttachOptions = {}): QueryRun {
    const known = this.#runs.get(uuid);
    known?.cancelWith(signal);
    const run = known ?? this.#create(uuid, signal);
    run.approvalDialog = approvalDialog ?? run.approvalDialog;
    if (known) return known;
    run.attach();
    this.#send(run);
    return run;
  }

  #create(uuid: string, signal?: AbortSignal): QueryRun {
    const run = new QueryRun(uuid, this.#port.McpWebError, {
      onAccepted: () => this.#session.queries.add(uuid),
      onApproved: (id, approved) => this.#answer(uuid, JSON.stringify({ type: "query_answer", uuid, id, approved })),
      requestApproval: (request, signal) => this.#port.dialog(request, signal),
      approvals: () => this.#port.approvals(),
      onCancelled: (reason) => this.#cancel(run, reason),
      onEnded: () => {
        this.#runs.delete(uuid);
        this.#unsentAnswers.delete(uuid);
        this.#session.queries.delete(uuid);
      },
    });
    this.#runs.set(uuid, run);
    run.cancelWith(signal);
    const { status } = this.#page;
    if (status.state === "failed") run.fail(status.error);
    if (status.state === "disconnected") run.fail(this.#error("Disconnected", "the page is disconnected: connect() first"));
    return run;
  }

  /** Handles a message of the bridge about a query. */
  onMessage(message: QueryMessage): void {
    this.#runs.get(message.uuid)?.onMessage(message);
  }

  /** Ends all queries, because the app disconnects. */
  disconnect(): void {
    const error = this.#error("Disconnected", "disconnect() was called");
    for (const run of [...this.#runs.values()]) run.cancel(error.message, error);
  }

  #onStatusChange(status: Status): void {
    const { state } = status;
    if (state === "connected") return this.#onConnected();
    const error = "error" in status ? status.error : undefined;
    // The bridge assigns the queries to a session that now belongs to another tab.
    const isAnotherSession = error?.code === "SessionSuperseded";
    for (const run of [...this.#runs.values()]) {
      if (state === "failed" || (isAnotherSession && run.mayBeKnown)) run.fail(error);
      run.isSent = false;
    }
  }

  #onConnected(): void {
    for (const [uuid, json] of this.#unsentCancellations) if (this.#sendNow(json)) this.#unsentCancellations.delete(uuid);
    for (const run of [...this.#runs.values()]) this.#send(run);
    const answers = [...this.#unsentAnswers];
    this.#unsentAnswers.clear();
    for (const [uuid, texts] of answers) for (const json of texts) this.#answer(uuid, json);
  }

  /** Sends a message if the page is connected, and returns whether it was sent. */
  #sendNow(json: string): boolean {
    return this.#page.status.state === "connected" && this.#port.connection().query(json);
  }

  /** Sends what the query needs on this connection, once. */
  #send(run: QueryRun): void {
    const message = this.#page.status.state === "connected" && !run.isSent && run.message();
    if (!message) return;
    const json = JSON.stringify(message);
    const [bytes, maxBytes] = [new TextEncoder().encode(json).length, this.#port.maxBytes()];
    if (maxBytes && bytes > maxBytes) return run.fail(this.#tooLarge(bytes, maxBytes));
    run.isSent = this.#sendNow(json);
    if (!run.isSent) return;
    run.mayBeKnown = true;
    this.#session.queries.add(run.uuid);
  }

  /** Sends the cancellation if a bridge may know the query. */
  #cancel(run: QueryRun, reason: string | undefined): void {
    if (!run.mayBeKnown) return;
    const json = JSON.stringify({ type: "query_cancel", uuid: run.uuid, reason });
    if (!this.#sendNow(json)) this.#unsentCancellations.set(run.uuid, json);
  }

  /** Stores the answer if there is no connection, because the person may answer meanwhile. */
  #answer(uuid: string, json: string): void {
    if (!this.#sendNow(json)) this.#unsentAnswers.set(uuid, [...(this.#unsentAnswers.get(uuid) ?? []), json]);
  }

  #tooLarge(bytes: number, maxBytes: number): McpWebError {
    const what = `the query has ${bytes} bytes, and the bridge takes ${maxBytes}`;
    return this.#createError("QueryTooLarge", what, "send less context, or add a tool that the agent can ask for it");
  }

  #createError(code: McpWebErrorCode, what: string, remedy: string, options?: ErrorOptions): McpWebError {
    const error = new this.#port.McpWebError(code, `${what}: ${remedy}`, options);
    return Object.assign(error, { remedy });
  }

  #error(code: McpWebErrorCode, message: string): McpWebError {
    return new this.#port.McpWebError(code, message);
  }
}

/** The operations of a handler besides returning: progress, logs, handing over its call, and requests to its client. */

import type * as calls from "../types/calls.ts";
import type { ClientRequests } from "../mcp-web-client-requests.ts";
import type { ClientResponse } from "../client-requests/open-requests.ts";
import { mapMaybePromise } from "./content.ts";
import { McpWebError } from "./error.ts";
import type { ImageLimit } from "./scale-images.ts";
import { loadModule } from "./lazy.ts";
import type { CallPort } from "./ports.ts";
import { toMessages } from "./results.ts";

/** The levels of RFC 5424, from the least severe to the most severe. */
const LEVELS: readonly unknown[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** Maximum size of a state that is handed over, in bytes. */
const MAX_STATE_BYTES = 65_536;

/** The field `context` of a message that calls a handler. */
export interface CallContextMessage {
  client?: {
    info: { name: string };
    protocolVersion?: string;
    capabilities?: object;
    limits?: calls.ClientLimits;
  };
  caller?: Partial<calls.Caller>;
  /** Whether the client requests progress. */
  progress?: boolean;
  /** The lowest severity that the client requests. */
  logLevel?: calls.LogLevel;
  /** The state with which the previous document has handed over the call. */
  continuation?: unknown;
  /** The trace of the call, as headers. */
  trace?: calls.CallFacts["trace"];
}

/** One running call of any kind. */
export class RunningCall {
  readonly callId: string;
  readonly startedAt = performance.now();
  readonly client: calls.CallingClient | undefined;
  readonly caller: calls.Caller;
  /** The maximum size of the images in its result. */
  readonly imageLimit: ImageLimit;
  /** The fields that all events of this call have. */
  event: object = {};
  /** The return value of the handler. */
  result: unknown;
  readonly #controller = new AbortController();
  /** The requests of the handler, once there is one. */
  #requests: Promise<ClientRequests> | undefined;
  #loadedRequests: ClientRequests | undefined;
  /** The reason why the call ended, once it has. */
  #ending: { reason: unknown } | undefined;
  readonly #port: CallPort;
  readonly #context: CallContextMessage;
  #progress = -Infinity;

  constructor(callId: string, context: CallContextMessage, port: CallPort) {
    this.callId = callId;
    this.#context = context;
    this.#port = port;
    const { client, caller } = context;
    if (client) {
      const { info, protocolVersion, capabilities = {}, limits } = client;
      this.client = Object.freeze({
        ...info,
        ...(protocolVersion && { protocolVersion }),
        capabilities: capabilities as calls.CallingClient["capabilities"],
        ...(limits && { limits }),
      });
    }
    this.imageLimit = { maxEdge: client?.limits?.maxImageEdge, load: port.importImages };
    this.caller = Object.freeze({ via: "mcp", roles: [], ...caller });
  }

  /** The context of every handler. */
  get facts(): calls.CallFacts {
    const { callId, client, caller } = this;
    return { callId, signal: this.#controller.signal, client, caller, trace: this.#context.trace ?? {} };
  }

  /** The context of handlers that may do more than answer. */
  get context(): calls.CallContext {
    return {
      ...this.facts,
      progress: (progress, total, message) => this.#report(progress, total, message),
      log: (level, data, logger) => this.#log(level, data, logger),
      continuation: this.#context.continuation,
      handOver: (state) => this.#handOver(state),
      elicit: (request?: Parameters<ClientRequests["elicit"]>[0]) => this.#ask((requests) => requests.elicit(request ?? {})),
      sample: (request) => withoutRejection(this.#sample(request ?? {})),
      listRoots: (request) => this.#ask((requests) => requests.listRoots(request ?? {})),
    };
  }

  get hasEnded(): boolean {
    return !!this.#ending;
  }

  onAnswer(key: string, response: ClientResponse): void {
    this.#loadedRequests?.onAnswer(key, response);
  }

  onFailure(key: string, error: unknown): void {
    this.#loadedRequests?.onFailure(key, error);
  }

  /** Ends the call. `reason` says why the result is no longer needed, if so. */
  end(reason: unknown): void {
    this.#ending = { reason };
    this.#loadedRequests?.end(reason);
    if (reason) this.#controller.abort(reason);
  }

  #report(progress: number, total?: number, message?: string): void {
    if (!Number.isFinite(progress)) throw new TypeError("progress(): the first argument must be a finite number");
    if (total !== undefined && !Number.isFinite(total)) throw new TypeError("progress(): total must be a finite number");
    // MCP requires the progress to increase with each notification.
    if (!this.#context.progress || progress <= this.#progress) return;
    this.#progress = progress;
    const end = total === undefined ? undefined : JSON.stringify(total);
    this.#port.connection().progress(this.callId, JSON.stringify(progress), end, message === undefined ? undefined : String(message));
  }

  #log(level: calls.LogLevel, data: unknown, logger?: string): void {
    const severity = LEVELS.indexOf(level);
    if (severity < 0) throw new TypeError(`log(): the level must be one of ${LEVELS.join(", ")}`);
    const { logLevel } = this.#context;
    if (!logLevel || severity < LEVELS.indexOf(logLevel)) return;
    this.#port.connection().log(this.callId, level, logger === undefined ? undefined : String(logger), JSON.stringify(data) ?? "null");
  }

  #handOver(state: unknown): void {
    if (this.#ending) throw new TypeError("handOver(): the call has ended");
    const json = JSON.stringify(state ?? null);
    if (!json) throw new TypeError("handOver(): the state is not JSON");
    if (new TextEncoder().encode(json).length > MAX_STATE_BYTES) throw new RangeError("handOver(): the state may have 64 KiB of JSON");
    // A call from the browser may arrive before there is a connection.
    this.#port.connection()?.handOver(this.callId, json, json !== "null");
  }

  /** Pictures are read when they are passed, and not when the module is loaded. */
  async #sample({ prompt, messages = prompt, ...rest }: calls.SampleRequest): Promise<calls.SampleAnswer> {
    if (messages === undefined) throw new TypeError("sample() needs messages, or a prompt");
    const created = toMessages(messages);
    return this.#ask((requests) => mapMaybePromise(created, (messages) => requests.sample({ messages, ...rest })));
  }

  #ask(request: (requests: ClientRequests) => unknown): Promise<any> {
    return withoutRejection((this.#requests ??= this.#loadRequests()).then(request));
  }

  async #loadRequests(): Promise<ClientRequests> {
    const { ClientRequests } = await loadModule(import("../mcp-web-client-requests.ts"), "client-requests", "ClientRequests");
    const requests = new ClientRequests({ ...this.event, ...this.facts }, this.#port, McpWebError);
    if (this.#ending) requests.end(this.#ending.reason);
    return (this.#loadedRequests = requests);
  }
}

/** A handler may end without awaiting its requests. That is not an unhandled rejection. */
function withoutRejection<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

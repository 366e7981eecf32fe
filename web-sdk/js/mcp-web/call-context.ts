/** What a handler can do besides returning: report, log, and ask the client behind its call. */

import type { DialogRequest } from "../dialog/request.ts";
import type * as calls from "../types/calls.ts";
import type { McpWebOptions } from "../types/options.ts";
import { type ClientResponse, ClientRequests } from "./client-requests.ts";
import { mapMaybePromise } from "./content.ts";
import { randomHex } from "./environment.ts";
import type { ImageLimit } from "./image-limits.ts";
import { toMessages } from "./results.ts";
import { isPlainObject } from "./type-guards.ts";

/** Of RFC 5424, from the least grave to the gravest. */
const LEVELS: readonly unknown[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The default of `sample()`. */
const MAX_TOKENS = 1000;

/** The field `context` of a message that calls a handler. */
export interface CallContextMessage {
  client?: {
    info: { name: string };
    protocolVersion?: string;
    capabilities?: object;
    limits?: calls.ClientLimits;
  };
  caller?: Partial<calls.Caller>;
  /** Whether the client wants to know about progress. */
  progress?: boolean;
  /** The least severe level that the client wants to know about. */
  logLevel?: calls.LogLevel;
}

/** What calls may use of the page: what the wasm offers for them, and the page's way to ask its own user. */
export interface CallPort {
  progress(callId: string, progress: string, total?: string, message?: string): void;
  log(callId: string, level: string, logger: string | undefined, data: string): void;
  ask(callId: string, key: string, method: string, params: string): void;
  readonly elicitInPage: McpWebOptions["elicitInPage"];
  importImages: ImageLimit["load"];
  dialog(request: Omit<DialogRequest, "appName" | "strings">, signal: AbortSignal): Promise<calls.ElicitAnswer<object>>;
}

type ElicitRequest = Partial<calls.ElicitForm | calls.ElicitUrl>;

/** One running call of any kind. */
export class CallContext {
  readonly callId: string;
  readonly startedAt = performance.now();
  readonly client: calls.CallingClient | undefined;
  readonly caller: calls.Caller;
  /** How large the images of its result may be. */
  readonly imageLimit: ImageLimit;
  /** The fields that all events about this call have. */
  event: object = {};
  /** What the handler returned. */
  result: unknown;
  readonly #controller = new AbortController();
  readonly #requests: ClientRequests;
  readonly #port: CallPort;
  readonly #context: CallContextMessage;
  #progress = -Infinity;

  constructor(callId: string, context: CallContextMessage, port: CallPort) {
    this.callId = callId;
    this.#context = context;
    this.#port = port;
    this.#requests = new ClientRequests((key, method, params) => port.ask(callId, key, method, params));
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

  /** What every handler gets. */
  get facts(): calls.CallFacts {
    const { callId, client, caller } = this;
    return { callId, signal: this.#controller.signal, client, caller };
  }

  /** What handlers get that may do more than answer. */
  get context(): calls.CallContext {
    return {
      ...this.facts,
      progress: (progress, total, message) => this.#report(progress, total, message),
      log: (level, data, logger) => this.#log(level, data, logger),
      elicit: (request?: ElicitRequest) => withoutRejection(this.#elicit(request ?? {})) as Promise<any>,
      sample: (request) => withoutRejection(this.#sample(request ?? {})),
      listRoots: (request) => withoutRejection(this.#listRoots(request ?? {})),
    };
  }

  onAnswer(key: string, response: ClientResponse): void {
    this.#requests.onAnswer(key, response);
  }

  onFailure(key: string, error: unknown): void {
    this.#requests.onFailure(key, error);
  }

  /** Ends the call. `reason`: why nobody waits for the result any more, if that is so. */
  end(reason: unknown): void {
    this.#requests.end(reason);
    if (reason) this.#controller.abort(reason);
  }

  #report(progress: number, total?: number, message?: string): void {
    if (!Number.isFinite(progress)) throw new TypeError("progress(): the first argument must be a finite number");
    if (total !== undefined && !Number.isFinite(total)) throw new TypeError("progress(): total must be a finite number");
    // MCP: progress must grow with each notification.
    if (!this.#context.progress || progress <= this.#progress) return;
    this.#progress = progress;
    const end = total === undefined ? undefined : JSON.stringify(total);
    this.#port.progress(this.callId, JSON.stringify(progress), end, message === undefined ? undefined : String(message));
  }

  #log(level: calls.LogLevel, data: unknown, logger?: string): void {
    const severity = LEVELS.indexOf(level);
    if (severity < 0) throw new TypeError(`log(): the level must be one of ${LEVELS.join(", ")}`);
    const { logLevel } = this.#context;
    if (!logLevel || severity < LEVELS.indexOf(logLevel)) return;
    this.#port.log(this.callId, level, logger === undefined ? undefined : String(logger), JSON.stringify(data) ?? "null");
  }

  async #elicit({ key, message, schema, url }: ElicitRequest): Promise<unknown> {
    if (typeof message !== "string" || !message) throw new TypeError("elicit(): message must be a non-empty string");
    if (url === undefined && !isPlainObject(schema)) {
      throw new TypeError("elicit() needs a schema ({ type: \"object\", properties: {…} }) or a url");
    }
    const mode = url === undefined ? "form" : "url";
    const params = url === undefined ? { message, requestedSchema: schema } : { mode, message, url: new URL(url).href, elicitationId: randomHex(16) };
    const { elicitInPage } = this.#port;
    const ask = () => this.#requests.request("elicit", key, "elicitation/create", params);
    const asker: string = this.client?.title ?? this.client?.name ?? "An AI client";
    const inPage = () => this.#port.dialog({ message, ...(schema && { schema }), ...(url !== undefined && { url: new URL(url).href }), asker }, this.#controller.signal);
    if (elicitInPage === "always") return inPage();
    if (elicitInPage !== "fallback") return ask();
    if (!canElicit(this.client?.capabilities.elicitation, mode)) return inPage();
    return ask().catch((error) => {
      if (error.code === "ClientCapabilityMissing") return inPage();
      throw error;
    });
  }

  async #sample({ key, prompt, messages = prompt, maxTokens = MAX_TOKENS, ...rest }: calls.SampleRequest): Promise<calls.SampleAnswer> {
    if (messages === undefined) throw new TypeError("sample() needs messages, or a prompt");
    const ask = (messages: object[]) =>
      this.#requests.request("sample", key, "sampling/createMessage", { messages, maxTokens, ...rest });
    return mapMaybePromise(toMessages(messages), ask) as Promise<calls.SampleAnswer>;
  }

  async #listRoots({ key }: { key?: string }): Promise<calls.Root[]> {
    const result = await this.#requests.request("roots", key, "roots/list", {});
    const { roots = [] } = result as { roots?: calls.Root[] };
    return roots;
  }
}

/** A handler may end without waiting for what it asked: that is no unhandled rejection. */
function withoutRejection<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

/** Before there were modes, an empty object meant forms. */
function canElicit(capability: object | undefined, mode: string): boolean {
  if (!capability) return false;
  return mode in capability || (mode === "form" && !("url" in capability));
}

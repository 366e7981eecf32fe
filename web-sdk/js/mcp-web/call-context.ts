/** What a handler can do besides returning: report, log, and ask the client behind its call. */

import { messagesOf } from "./answers.js";
import { ClientRequests } from "./client-requests.js";
import { maybeLater } from "./content.js";
import { randomHex } from "./environment.js";
import { isPlainObject } from "./objects.js";

/** Of RFC 5424, from the least grave to the gravest. */
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** Unless a handler says otherwise. */
const MAX_TOKENS = 1000;

/** One running call of any kind. */
export class Call {
  #controller = new AbortController();
  #requests;
  #port;
  #context;
  #progress = -Infinity;

  /** `port`: what the wasm offers for calls, and the page's way to ask its own user. */
  constructor(callId, context, port) {
    this.callId = callId;
    this.startedAt = performance.now();
    this.#context = context;
    this.#port = port;
    this.#requests = new ClientRequests((key, method, params) => port.ask(callId, key, method, params));
    const { client, caller } = context;
    if (client) {
      const { info, protocolVersion, capabilities = {}, limits } = client;
      this.client = Object.freeze({ ...info, ...(protocolVersion && { protocolVersion }), capabilities, ...(limits && { limits }) });
    }
    /** How large the pictures of its result may be. */
    this.pictures = { maxEdge: client?.limits?.maxImageEdge, load: port.importImages };
    this.caller = Object.freeze({ via: "mcp", roles: [], ...caller });
  }

  /** What every handler gets. */
  get facts() {
    const { callId, client, caller } = this;
    return { callId, signal: this.#controller.signal, client, caller };
  }

  /** What handlers get that may do more than answer. */
  get context() {
    return {
      ...this.facts,
      progress: (progress, total, message) => this.#report(progress, total, message),
      log: (level, data, logger) => this.#log(level, data, logger),
      elicit: (request) => quiet(this.#elicit(request ?? {})),
      sample: (request) => quiet(this.#sample(request ?? {})),
      listRoots: (request) => quiet(this.#listRoots(request ?? {})),
    };
  }

  answered(key, answer) {
    this.#requests.answered(key, answer);
  }

  refused(key, error) {
    this.#requests.refused(key, error);
  }

  /** `reason`: why nobody waits for the result any more, if that is so. */
  ended(reason) {
    this.#requests.ended(reason);
    if (reason) this.#controller.abort(reason);
  }

  #report(progress, total, message) {
    if (!Number.isFinite(progress)) throw new TypeError("progress(): the first argument must be a finite number");
    if (total !== undefined && !Number.isFinite(total)) throw new TypeError("progress(): total must be a finite number");
    // MCP: progress must grow with each notification.
    if (!this.#context.progress || progress <= this.#progress) return;
    this.#progress = progress;
    const [now, end] = [progress, total].map((number) => (number === undefined ? undefined : JSON.stringify(number)));
    this.#port.progress(this.callId, now, end, message === undefined ? undefined : String(message));
  }

  #log(level, data, logger) {
    const gravity = LEVELS.indexOf(level);
    if (gravity < 0) throw new TypeError(`log(): the level must be one of ${LEVELS.join(", ")}`);
    const { logLevel } = this.#context;
    if (!logLevel || gravity < LEVELS.indexOf(logLevel)) return;
    this.#port.log(this.callId, level, logger === undefined ? undefined : String(logger), JSON.stringify(data) ?? "null");
  }

  async #elicit({ key, message, schema, url }) {
    if (typeof message !== "string" || !message) throw new TypeError("elicit(): message must be a non-empty string");
    if (url === undefined && !isPlainObject(schema)) {
      throw new TypeError("elicit() needs a schema ({ type: \"object\", properties: {…} }) or a url");
    }
    const mode = url === undefined ? "form" : "url";
    const params = url === undefined ? { message, requestedSchema: schema } : { mode, message, url: new URL(url).href, elicitationId: randomHex(16) };
    const { elicitInPage } = this.#port;
    const ask = () => this.#requests.ask("elicit", key, "elicitation/create", params);
    const asker = this.client?.title ?? this.client?.name ?? "An AI client";
    const inPage = () => this.#port.dialog({ message, schema, url: params.url, asker }, this.#controller.signal);
    if (elicitInPage === "always") return inPage();
    if (elicitInPage !== "fallback") return ask();
    if (!canElicit(this.client?.capabilities.elicitation, mode)) return inPage();
    return ask().catch((error) => {
      if (error.code === "ClientCapabilityMissing") return inPage();
      throw error;
    });
  }

  async #sample({ key, prompt, messages = prompt, maxTokens = MAX_TOKENS, ...rest }) {
    if (messages === undefined) throw new TypeError("sample() needs messages, or a prompt");
    const ask = (messages) =>
      this.#requests.ask("sample", key, "sampling/createMessage", { messages, maxTokens, ...rest });
    return maybeLater(messagesOf(messages), ask);
  }

  async #listRoots({ key }) {
    const { roots = [] } = await this.#requests.ask("roots", key, "roots/list", {});
    return roots;
  }
}

/** A handler may end without waiting for what it asked: that is no unhandled rejection. */
function quiet(promise) {
  promise.catch(() => {});
  return promise;
}

/** Before there were modes, an empty object meant forms. */
function canElicit(capability, mode) {
  if (!capability) return false;
  return mode in capability || (mode === "form" && !("url" in capability));
}

/** The calls under way. */

import { thrown } from "./answers.js";
import { Call } from "./context.js";
import { McpWebError } from "./error.js";
import { notify, subscribe } from "./listeners.js";
import { factsOf, run } from "./run.js";

export class Calls {
  /** Call id → Call. */
  #calls = new Map();
  #listeners = new Set();
  #entryOf;
  #port;

  /** `entryOf(key)`: what is called; `port`: what calls may use of the page. */
  constructor(entryOf, port) {
    this.#entryOf = entryOf;
    this.#port = port;
  }

  subscribe(listener) {
    return subscribe(this.#listeners, listener, "onCall");
  }

  /** Runs a handler; the promise is never rejected. */
  async #call(callId, entry, message) {
    try {
      const call = new Call(callId, message.context ?? {}, this.#port);
      const { client, caller } = call;
      call.event = { callId, ...factsOf(message, entry), ...(client && { client }), caller };
      this.#calls.set(callId, call);
      notify(this.#listeners, Object.freeze({ phase: "started", ...call.event }));
      const { value, answer } = await run(entry, message, call);
      call.result = value;
      return answer;
    } catch (error) {
      return thrown(error);
    }
  }

  #ended(callId, phase, error) {
    const call = this.#calls.get(callId);
    if (!call) return;
    this.#calls.delete(callId);
    const durationMs = performance.now() - call.startedAt;
    const ending = error ? { phase, error } : { phase, result: call.result };
    notify(this.#listeners, Object.freeze({ ...call.event, ...ending, durationMs }));
    call.ended(phase === "cancelled" ? error : undefined);
  }

  /** What the wasm tells of calls. */
  get host() {
    return {
      call: (callId, key, message) => this.#call(callId, this.#entryOf(key), message),
      callEnded: (callId, phase, code, message) =>
        this.#ended(callId, phase, code === undefined ? undefined : new McpWebError(code, message)),
      clientAnswered: (callId, key, answer) => this.#calls.get(callId)?.answered(key, answer),
      clientRefused: (callId, key, code, message) =>
        this.#calls.get(callId)?.refused(key, new McpWebError(code, message)),
    };
  }
}

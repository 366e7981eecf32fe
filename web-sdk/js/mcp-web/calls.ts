/** The running calls. */

import type { CallEvent } from "../types/calls.ts";
import { RunningCall, type CallContextMessage } from "./call-context.ts";
import type { ClientResponse } from "../client-requests/open-requests.ts";
import type { HandlerOutcome } from "./core.ts";
import { McpWebError } from "./error.ts";
import { type ListenerEntry, notify, subscribe } from "./listeners.ts";
import type { Registration } from "./registration.ts";
import type { CallPort } from "./ports.ts";
import { errorResult } from "./results.ts";
import { type CallMessage, describeCall, runHandler } from "./run.ts";

export class Calls {
  readonly #running = new Map<string, RunningCall>();
  readonly #listeners = new Set<ListenerEntry<CallEvent>>();
  readonly #registrationOf: (key: number) => Registration;
  readonly #port: CallPort;

  /** `registrationOf` returns the called registration; `port` is the part of the page that calls use. */
  constructor(registrationOf: (key: number) => Registration, port: CallPort) {
    this.#registrationOf = registrationOf;
    this.#port = port;
  }

  get isIdle(): boolean {
    return !this.#running.size;
  }

  notify(event: CallEvent): void {
    notify(this.#listeners, event);
  }

  subscribe(listener: (event: CallEvent) => void): () => void {
    return subscribe(this.#listeners, listener, "onCall");
  }

  /** Runs a handler. The promise is never rejected, and stays pending if the call has ended. */
  async #run(callId: string, registration: Registration, message: CallMessage): Promise<HandlerOutcome> {
    let call: RunningCall | undefined;
    let outcome: HandlerOutcome;
    try {
      call = new RunningCall(callId, (message.context ?? {}) as CallContextMessage, this.#port);
      const { client, caller } = call;
      call.event = { callId, ...describeCall(message, registration), ...(client && { client }), caller };
      this.#running.set(callId, call);
      this.notify(Object.freeze({ phase: "started", ...call.event }) as CallEvent);
      const returned = await runHandler(registration, message, call);
      call.result = returned.value;
      outcome = returned.outcome;
    } catch (error) {
      outcome = errorResult(error);
    }
    // The call may have returned from another document, and be running again.
    return call?.hasEnded ? new Promise(() => {}) : outcome;
  }

  #end(callId: string, phase: string, error?: McpWebError): void {
    const call = this.#running.get(callId);
    if (!call) return;
    this.#running.delete(callId);
    const durationMs = performance.now() - call.startedAt;
    const ending = error ? { phase, error } : { phase, result: call.result };
    this.notify(Object.freeze({ ...call.event, ...ending, durationMs }) as CallEvent);
    call.end(phase === "cancelled" ? error : undefined);
  }

  /** The callbacks of the wasm for calls. */
  get hostBindings() {
    return {
      call: (callId: string, key: number, message: CallMessage) => this.#run(callId, this.#registrationOf(key), message),
      callEnded: (callId: string, phase: string, code?: string, message = "") =>
        this.#end(callId, phase, code === undefined ? undefined : new McpWebError(code, message)),
      clientAnswered: (callId: string, key: string, response: ClientResponse) =>
        this.#running.get(callId)?.onAnswer(key, response),
      clientRefused: (callId: string, key: string, code: string, message: string) =>
        this.#running.get(callId)?.onFailure(key, new McpWebError(code, message)),
    };
  }
}

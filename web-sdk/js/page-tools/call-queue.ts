/** The calls of a page, one after the other. */

import { nextTask } from "../mcp-web/next-task.ts";
import { pageBusy } from "./failure.ts";

/** So long, in milliseconds, a call waits for those before it. */
export const MAX_WAIT_MS = 60_000;

/** Waits; fulfilled early when the signal is aborted. */
type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Runs tasks one after the other. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve();
  readonly #wait: Wait;

  constructor(wait: Wait) {
    this.#wait = wait;
  }

  /** Runs a task when all before it have ended. Rejected if that takes too long, or the signal is aborted: it is not run then. */
  async run<Value>(signal: AbortSignal, task: () => Promise<Value>): Promise<Value> {
    const before = this.#last;
    let isGivenUp = false;
    const mine = before.then(() => (isGivenUp ? undefined : task()));
    this.#last = mine.catch(() => {});
    const started = before.then(() => true);
    if (!(await this.#isTurn(started, signal))) {
      isGivenUp = true;
      signal.throwIfAborted();
      throw pageBusy();
    }
    return mine as Promise<Value>;
  }

  async #isTurn(started: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    // Most calls find nobody before them: a task is enough to know.
    if (await Promise.race([started, nextTask().then(() => false)])) return true;
    const end = new AbortController();
    const giveUp = AbortSignal.any([signal, end.signal]);
    const isTurn = await Promise.race([started, this.#wait(MAX_WAIT_MS, giveUp).then(() => false)]);
    end.abort();
    return isTurn;
  }
}

/** Runs the calls of a page one at a time. */

import { nextTask } from "../mcp-web/next-task.ts";
import { pageBusy } from "./failure.ts";

/** How long a call waits for earlier calls, in milliseconds. */
export const MAX_WAIT_MS = 60_000;

/** Waits for a time; fulfilled early if the signal is aborted. */
type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Runs tasks one at a time. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve();
  readonly #wait: Wait;

  constructor(wait: Wait) {
    this.#wait = wait;
  }

  /**
   * Runs a task when all earlier ones have ended. Rejected without running it if that takes too long, or the signal is
   * aborted.
   */
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
    // Most calls do not have to wait, which is known after one task.
    if (await Promise.race([started, nextTask().then(() => false)])) return true;
    const end = new AbortController();
    const giveUp = AbortSignal.any([signal, end.signal]);
    const isTurn = await Promise.race([started, this.#wait(MAX_WAIT_MS, giveUp).then(() => false)]);
    end.abort();
    return isTurn;
  }
}

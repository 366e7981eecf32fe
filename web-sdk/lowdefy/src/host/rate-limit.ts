/** How many calls a user may begin within a minute. */

import { handlerFailed } from "../processes/call-failure.ts";

const MINUTE_MS = 60_000;

/** Counts the calls of one user. */
export class RateLimit {
  readonly #most: number;
  #started = 0;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a call. @throws an error with the reason `TooManyCalls` when there were too many. */
  count(now = performance.now()): void {
    if (now - this.#started >= MINUTE_MS) {
      this.#started = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= this.#most) return;
    const seconds = Math.ceil((this.#started + MINUTE_MS - now) / 1000);
    const message = `more than ${this.#most} calls within a minute (callsPerMinute): nothing was done, try again in ${seconds} s`;
    throw handlerFailed("TooManyCalls", message);
  }
}

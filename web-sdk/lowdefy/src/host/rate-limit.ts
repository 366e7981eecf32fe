/** Limits how many calls a user may begin within a minute. */

import { countValues } from "../engine/json-values.ts";
import { handlerFailed } from "../processes/call-failure.ts";

const MINUTE_MS = 60_000;
/** The number of values in arguments that costs the host as much as a call. */
const VALUES_OF_A_CALL = 1000;

/** Counts the calls of one user. */
export class RateLimit {
  readonly #most: number;
  #started = 0;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Counts a call, and additional ones for many values in its arguments.
   *
   * @throws an error with the reason `TooManyCalls` if there were too many.
   */
  count(args: unknown, now = performance.now()): void {
    if (now - this.#started >= MINUTE_MS) {
      this.#started = now;
      this.#count = 0;
    }
    this.#count += 1 + Math.floor(countValues(args) / VALUES_OF_A_CALL);
    if (this.#count <= this.#most) return;
    const seconds = Math.ceil((this.#started + MINUTE_MS - now) / 1000);
    const message = `more than ${this.#most} calls within a minute (callsPerMinute): nothing was done, try again in ${seconds} s`;
    throw handlerFailed("TooManyCalls", message);
  }
}

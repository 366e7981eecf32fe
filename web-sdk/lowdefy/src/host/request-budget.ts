/** Limits the requests of one user, because the host makes them for all users. */

import { setTimeout as pause } from "node:timers/promises";

import { countValues } from "../engine/json-values.ts";
import { handlerFailed } from "../processes/call-failure.ts";
import { TokenBucket } from "../processes/token-bucket.ts";

/** Maximum number of running requests of a user. */
const MAX_OPEN = 32;
/** Maximum number of values in the payload of a request, because Lowdefy checks each of them. */
const MAX_PAYLOAD_VALUES = 10_000;
/** Cost of a request in addition to the values of its payload. */
const REQUEST_COST = 1000;
/** The budget of a user. Only a page that exceeds it has to wait. */
const BUDGET = { burst: 60_000, perSecond: 20_000 };
/** How long the host waits for a request, in milliseconds. */
const MAX_REQUEST_MS = 300_000;

/** Limits the requests of one user. */
export class RequestBudget {
  #open = 0;
  readonly #bucket = new TokenBucket(BUDGET);

  /**
   * Makes a request when the budget allows it.
   *
   * @throws an error with the reason `TooManyRequests` if too many are running.
   */
  async spend<Value>(payload: unknown, request: () => Promise<Value>): Promise<Value> {
    const values = countValues(payload);
    if (values > MAX_PAYLOAD_VALUES) throw new Error(`the payload of the request has more than ${MAX_PAYLOAD_VALUES} values: send less`);
    if (this.#open >= MAX_OPEN) throw handlerFailed("TooManyRequests", `${MAX_OPEN} requests of this user have not ended: try again when one has`);
    this.#open += 1;
    const late = new AbortController();
    try {
      const waitMs = this.#bucket.spend(REQUEST_COST + values);
      if (waitMs > 0) await pause(waitMs);
      const tooLate = pause(MAX_REQUEST_MS, undefined, { signal: late.signal, ref: false }).then(() => {
        throw new Error(`the request was not answered within ${MAX_REQUEST_MS / 1000} s`);
      });
      return await Promise.race([request(), tooLate]);
    } finally {
      late.abort();
      this.#open -= 1;
    }
  }
}

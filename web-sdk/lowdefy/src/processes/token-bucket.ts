/** A token bucket: it is full at first, and refills with time. */

/** The maximum amount at once, and the amount per second afterwards. */
export interface BucketSize {
  burst: number;
  perSecond: number;
}

/** Counts the spent tokens. It may be overdrawn; the sender then has to wait. */
export class TokenBucket {
  readonly #size: BucketSize;
  #left: number;
  #filledAt = performance.now();

  constructor(size: BucketSize) {
    this.#size = size;
    this.#left = size.burst;
  }

  /** Takes tokens, and returns the time until none are missing, in milliseconds. */
  spend(tokens: number): number {
    const { burst, perSecond } = this.#size;
    const now = performance.now();
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1000) * perSecond) - tokens;
    this.#filledAt = now;
    return Math.max(0, (-this.#left / perSecond) * 1000);
  }
}

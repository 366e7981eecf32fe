/** A token bucket: it is full at first, and fills again with time. */

/** How much may be spent at once, and then in each second. */
export interface BucketSize {
  burst: number;
  perSecond: number;
}

/** Counts what is spent. It may be overdrawn: who spends too much waits. */
export class TokenBucket {
  readonly #size: BucketSize;
  #left: number;
  #filledAt = performance.now();

  constructor(size: BucketSize) {
    this.#size = size;
    this.#left = size.burst;
  }

  /** Takes tokens out, and returns how long it takes until none are missing, in milliseconds. */
  spend(tokens: number): number {
    const { burst, perSecond } = this.#size;
    const now = performance.now();
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1000) * perSecond) - tokens;
    this.#filledAt = now;
    return Math.max(0, (-this.#left / perSecond) * 1000);
  }
}

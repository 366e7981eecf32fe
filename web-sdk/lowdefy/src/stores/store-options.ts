/** The common options of all stores. */

/** The limits of a principal's sessions. */
export interface StoreOptions {
  /** Maximum number of active sessions of the principal. 50 by default. */
  maxSessions?: number | undefined;
  /** How long after its last save a session expires, in milliseconds. 24 hours by default. */
  expiryMs?: number | undefined;
  /** Returns the time in milliseconds since 1970. `Date.now` by default. */
  now?: (() => number) | undefined;
  /**
   * Called with one sentence for the operator. It contains no token, no password and no data of a page. `console.warn` by
   * default.
   */
  warn?: ((text: string) => void) | undefined;
}

/** The options of a store with the defaults filled in. */
export interface StoreSettings {
  maxSessions: number;
  expiryMs: number;
  now: () => number;
  warn: (text: string) => void;
}

const MAX_SESSIONS = 50;
const EXPIRY_MS = 24 * 60 * 60 * 1000;

/** Returns the options with their defaults. @throws RangeError if a number is not a positive integer. */
export function settingsFrom(options: StoreOptions): StoreSettings {
  return {
    maxSessions: positiveInteger("maxSessions", options.maxSessions ?? MAX_SESSIONS),
    expiryMs: positiveInteger("expiryMs", options.expiryMs ?? EXPIRY_MS),
    now: options.now ?? Date.now,
    warn: options.warn ?? ((text) => console.warn(text)),
  };
}

function positiveInteger(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name} is ${value}: give a positive integer`);
}

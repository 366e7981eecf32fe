/** The common options of all stores. */

/** The limits of a principal's sessions. */
export interface StoreOptions {
  /** Maximum number of active sessions of the principal. {@link DEFAULT_MAX_SESSIONS} by default. */
  maxSessions?: number | undefined;
  /** How long after its last save a session expires, in milliseconds. {@link DEFAULT_EXPIRY_MS} by default. */
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

/** The default maximum number of active sessions of a principal. */
export const DEFAULT_MAX_SESSIONS = 50;

/** The default time without a save after which a session expires, in milliseconds. */
export const DEFAULT_EXPIRY_MS = 24 * 60 * 60 * 1000;

/** Returns the options with their defaults. @throws RangeError if a number is not a positive integer. */
export function settingsFrom(options: StoreOptions): StoreSettings {
  return {
    maxSessions: positiveInteger("maxSessions", options.maxSessions ?? DEFAULT_MAX_SESSIONS),
    expiryMs: positiveInteger("expiryMs", options.expiryMs ?? DEFAULT_EXPIRY_MS),
    now: options.now ?? Date.now,
    warn: options.warn ?? ((text) => console.warn(text)),
  };
}

function positiveInteger(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name} is ${value}: give a positive integer`);
}

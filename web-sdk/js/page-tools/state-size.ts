/** How much of a state `get_state` returns. */

/** What a state may have as JSON. */
export const MAX_STATE_BYTES = 256 * 1024;

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value) ?? "null").length;

/** What is left of a state. */
export interface FittingState {
  /** What fits. */
  value: unknown;
  /** Whether something is missing. */
  truncated: boolean;
  /** What is left for another one: at least an empty object. */
  bytesLeft: number;
}

/** Leaves out what is more than a state may have. */
export function fitState(value: unknown, maxBytes = MAX_STATE_BYTES): FittingState {
  const result = (fitting: unknown, truncated: boolean): FittingState => ({ value: fitting, truncated, bytesLeft: Math.max(2, maxBytes - bytesOf(fitting)) });
  if (value === null || value === undefined || bytesOf(value) <= maxBytes) return result(value ?? null, false);
  if (typeof value !== "object") return result(null, true);
  const kept = new Map<string, unknown>();
  let left = maxBytes - 2;
  for (const [key, inner] of Object.entries(value)) {
    const size = bytesOf(inner) + bytesOf(key) + 2;
    if (size > left) continue;
    kept.set(key, inner);
    left -= size;
  }
  return result(Array.isArray(value) ? [...kept.values()] : Object.fromEntries(kept), true);
}

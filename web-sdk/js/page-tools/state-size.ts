/** Limits the size of the state that `get_state` returns. */

/** Maximum size of a state as JSON. */
export const MAX_STATE_BYTES = 256 * 1024;

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value) ?? "null").length;

/** The part of a state that fits. */
export interface FittingState {
  /** The part that fits. */
  value: unknown;
  /** Whether a part is missing. */
  truncated: boolean;
  /** The remaining bytes for another state: at least those of an empty object. */
  bytesLeft: number;
}

/** Leaves out the part of a state that exceeds the limit. */
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

/** The limits of a session's state. */
export interface StateLimits {
  /** Maximum size of a session as JSON, in bytes. */
  maxStateBytes: number;
  /** Maximum number of items of a list, and of all lists in a value. */
  maxListItems: number;
}

/** Minimum number of these bytes for each value: many small ones cost the host more than a large one. */
const VALUE_BYTES = 20;

/** Returns the maximum number of values in a session. */
export const maxStateValues = ({ maxStateBytes }: StateLimits): number => Math.floor(maxStateBytes / VALUE_BYTES);

/** How large the state of a session may become. */
export interface SessionLimits {
  /** Number of bytes of a session, as JSON. */
  maxStateBytes: number;
  /** Number of items of a list, and of all lists in a value. */
  maxListItems: number;
}

/** How many of these bytes there must be for each value: many small ones cost the host more than a large one. */
const VALUE_BYTES = 20;

/** Returns how many values a session may have. */
export const maxStateValues = ({ maxStateBytes }: SessionLimits): number => Math.floor(maxStateBytes / VALUE_BYTES);

/** How large the state of a session may become. */
export interface SessionLimits {
  /** Number of bytes of a session, as JSON. */
  maxStateBytes: number;
  /** Number of items of a list, and of all lists in a value. */
  maxListItems: number;
}

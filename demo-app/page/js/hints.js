/** Annotations of tools: all four hints, always. What stays in the page is not an open world. */

/** A tool that only looks. */
export const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/**
 * A tool that changes the board.
 *
 * @param {boolean} effects.destructive something may be lost
 * @param {boolean} effects.idempotent the same call again changes nothing more
 */
export const writes = ({ destructive, idempotent }) => ({
  readOnlyHint: false,
  destructiveHint: destructive,
  idempotentHint: idempotent,
  openWorldHint: false,
});

/** Annotations of tools: always all four hints. `openWorldHint` is false, because the tools act only on the page. */

/** Hints of a tool that only reads. */
export const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/**
 * Hints of a tool that changes the board.
 *
 * @param {boolean} effects.destructive data may be lost
 * @param {boolean} effects.idempotent a repeated call has no further effect
 */
export const writes = ({ destructive, idempotent }) => ({
  readOnlyHint: false,
  destructiveHint: destructive,
  idempotentHint: idempotent,
  openWorldHint: false,
});

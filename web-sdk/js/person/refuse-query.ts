/** Whether a query may be sent. Page tools decide about it where they are on. */

import { outermostWindow } from "./outermost-window.ts";

/**
 * The property of the outermost window of the tab where page tools put a function that returns why a query may not be sent now, or
 * `undefined`. Options of a query that have the property were checked before: it is the reason, or an empty text.
 */
export const REFUSE_QUERY = Symbol.for("mcp-web.refuseQuery");

export interface GuardedWindow extends Window {
  [REFUSE_QUERY]?: () => string | undefined;
}

/** Returns why a query may not be sent now. */
export const queryRefusal = (): string | undefined => (outermostWindow() as GuardedWindow)[REFUSE_QUERY]?.();

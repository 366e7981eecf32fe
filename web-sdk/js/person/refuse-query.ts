/** Decides whether a query may be sent. Page tools make this decision while they are enabled. */

import { outermostWindow } from "./outermost-window.ts";

/**
 * The property of the tab's outermost window in which page tools store a function that returns why a query may not be sent
 * now, or `undefined`. Options of a query with this property were checked before: it is the reason, or an empty text.
 */
export const REFUSE_QUERY = Symbol.for("mcp-web.refuseQuery");

export interface GuardedWindow extends Window {
  [REFUSE_QUERY]?: () => string | undefined;
}

/** Returns why a query may not be sent now. */
export const queryRefusal = (): string | undefined => (outermostWindow() as GuardedWindow)[REFUSE_QUERY]?.();

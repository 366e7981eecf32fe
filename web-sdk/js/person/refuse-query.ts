/** Whether a query may be sent. Page tools decide about it where they are on. */

/**
 * The property of the outermost window of the tab where page tools put a function that returns why a query may not be sent now, or
 * `undefined`. Options of a query that have the property were checked before: it is the reason, or an empty text.
 */
export const REFUSE_QUERY = Symbol.for("mcp-web.refuseQuery");

export interface GuardedWindow extends Window {
  [REFUSE_QUERY]?: () => string | undefined;
}

/** Returns why a query may not be sent now. */
export function queryRefusal(): string | undefined {
  let view = globalThis as unknown as GuardedWindow;
  try {
    while (view.parent !== view && view.parent.document) view = view.parent;
  } catch {
    // The next window is of another origin.
  }
  return view[REFUSE_QUERY]?.();
}

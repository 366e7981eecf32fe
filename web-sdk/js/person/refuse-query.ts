/**
 * The property of a window where page tools put a function that returns why a query may not be sent now, or `undefined`. Options
 * of a query that have the property are those of a person whose own click or key was checked.
 */
export const REFUSE_QUERY = Symbol.for("mcp-web.refuseQuery");

export type QueryRefusal = () => string | undefined;

/** Queries of a page to agents. Loaded with the first query. */

export { Queries } from "./query/queries.ts";

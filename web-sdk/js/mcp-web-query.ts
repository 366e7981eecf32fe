/** What a page asks agents. Loaded when it asks for the first time. */

export { Queries } from "./query/queries.ts";

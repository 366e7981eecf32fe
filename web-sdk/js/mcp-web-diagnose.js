/** What stands between a page and its bridge. Loaded when there is no connection, or a developer asks. */

export { diagnose } from "./diagnose/report.js";
export { explain, pending } from "./diagnose/explain.js";

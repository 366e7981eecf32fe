/** What stands between a page and its bridge. Loaded when there is no connection, or a developer asks. */

export { Lookout } from "./diagnose/lookout.js";
export { diagnose } from "./diagnose/report.js";

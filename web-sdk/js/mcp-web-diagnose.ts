/** What stands between a page and its bridge. Loaded when there is no connection, or a developer asks. */

export { ConnectionWatchdog } from "./diagnose/connection-watchdog.ts";
export { diagnose } from "./diagnose/report.ts";

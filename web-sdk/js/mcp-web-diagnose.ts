/** Finds the obstacle between a page and its bridge. Loaded when there is no connection, or on request of a developer. */

export { ConnectionWatchdog } from "./diagnose/connection-watchdog.ts";
export { diagnose } from "./diagnose/report.ts";

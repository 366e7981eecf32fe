/** Items of bridges besides those of pages. A test compares the lists with the bridge's. */

/** The names of the bridge's tools: `builtin_tools.json` of the crate `bridge-protocol`. */
export const BUILTIN_TOOLS: readonly string[] = [
  "list_active_sessions",
  "list_session_tools",
  "call_session_tool",
  "get_connection_status",
  "get_result",
];

/** The URIs of the bridge's resources. */
export const BUILTIN_RESOURCES: readonly string[] = ["sessions://list", "status://connection"];

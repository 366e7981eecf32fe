/** Replaces `mcp-web/page-registry.ts`: each `McpWeb` of a process is a separate connection. */

import type * as Browser from "../mcp-web/page-registry.ts";

export const pageRegistry: typeof Browser.pageRegistry = () => new Map();

export const pageKey: typeof Browser.pageKey = () => "";

/** Each `McpWeb` of a process is a connection of its own. It replaces `mcp-web/page-registry.ts`. */

import type * as Browser from "../mcp-web/page-registry.ts";

export const pageRegistry: typeof Browser.pageRegistry = () => new Map();

export const pageKey: typeof Browser.pageKey = () => "";

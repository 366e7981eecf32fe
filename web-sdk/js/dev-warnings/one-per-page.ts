/** Warns an app that is connected twice by mistake. */

import type { Status } from "../types/status.ts";

/** The `McpWeb`, as far as it is used here. */
interface Page {
  readonly status: Status;
}

const ENDED = ["disconnected", "failed"];

/** The latest connection of each app. */
const latest = new Map<string, Page>();

/**
 * Warns if `mcpWeb` starts while the page is connected as the same `app` already. That happens where modules are
 * replaced while the page runs, and where a component makes its own `McpWeb`.
 */
export function warnIfDuplicate(mcpWeb: Page, name: string, app: string): void {
  const former = latest.get(app);
  latest.set(app, mcpWeb);
  if (!former || former === mcpWeb || ENDED.includes(former.status.state)) return;
  console.warn(
    `mcp-web: this page is connected twice as "${name}", and AI clients cannot tell the two apart: make one McpWeb ` +
      "per page, outside of components, and keep it in import.meta.hot.data where modules are replaced (see the README)",
  );
}

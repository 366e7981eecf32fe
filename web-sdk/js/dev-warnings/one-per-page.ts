/** Telling an app that it is connected twice by mistake. */

const ENDED = ["disconnected", "failed"];

/** The latest connection of each app. */
const latest = new Map();

/**
 * Says so when `mcpWeb` starts while the page is connected as the same `app` already: happens where
 * modules are replaced while the page runs, and where a component makes its own `McpWeb`.
 */
export function adviseOne(mcpWeb, name, app) {
  const former = latest.get(app);
  latest.set(app, mcpWeb);
  if (!former || former === mcpWeb || ENDED.includes(former.status.state)) return;
  console.warn(
    `mcp-web: this page is connected twice as "${name}", and AI clients cannot tell the two apart: make one McpWeb ` +
      "per page, outside of components, and keep it in import.meta.hot.data where modules are replaced (see the README)",
  );
}

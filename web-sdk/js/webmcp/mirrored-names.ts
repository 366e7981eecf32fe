/** The names that the SDK has registered in the browser, for all `McpWeb` objects and all copies of the SDK in the document. */

const NAMES = Symbol.for("mcp-web.mirrored");

/** By name, the object that has registered it. */
export function mirroredNames(): Map<string, object> {
  const global = globalThis as { [NAMES]?: Map<string, object> };
  return (global[NAMES] ??= new Map());
}

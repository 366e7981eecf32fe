/** The document around the element: its `McpWeb`, and the time when its scripts have run. */

import { invoke, read } from "../dom/native.ts";
import type { McpWeb } from "../mcp-web.ts";
import { pageRegistry } from "../mcp-web/page-registry.ts";

/** Returns the `McpWeb` of the document, if there is exactly one. */
export function onlyPage(): McpWeb | undefined {
  const entries = [...pageRegistry().values()];
  return entries.length === 1 ? (entries[0]!.page as McpWeb) : undefined;
}

/** Calls a function after all initial scripts of the document have run. */
export function whenParsed(run: () => void): void {
  if (read(document, "readyState") === "complete") return run();
  const controller = new AbortController();
  const once = () => {
    controller.abort();
    run();
  };
  invoke(document, "addEventListener", "DOMContentLoaded", once, { signal: controller.signal });
  window.addEventListener("load", once, { signal: controller.signal });
}

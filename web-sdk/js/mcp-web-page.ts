/**
 * Page tools: AI clients see the page as text and use it as its user does, with the user's login and in the user's tab. One
 * line enables them. Tools that the app has written itself remain the better choice for their tasks.
 *
 * ```js
 * import { McpWeb } from "mcp-web-sdk";
 * import { enablePageTools } from "mcp-web-sdk/page";
 *
 * const mcpWeb = new McpWeb({ name: "shop" });
 * enablePageTools(mcpWeb);
 * ```
 *
 * @packageDocumentation
 */

import type { McpWeb } from "./mcp-web.ts";
import { DomDriver } from "./page-tools/dom/driver.ts";
import type { PageToolsOptions } from "./page-tools/options.ts";
import { PageTools } from "./page-tools/page-tools.ts";

export type { ActionFacts, AppPage, Capture, DoneAction, PageToolsLimits, PageToolsOptions } from "./page-tools/options.ts";

/** The result of {@link enablePageTools}. */
export interface PageToolsHandle {
  /** Fulfilled once clients can use the tools; rejected if the bridge rejects one of them. */
  readonly ready: Promise<void>;
  /** Removes the tools; completed actions are not undone. Fulfilled once no client can use the tools. */
  remove(): Promise<void>;
}

const enabled = new WeakMap<McpWeb, { tools: PageTools; handle: PageToolsHandle }>();

/**
 * Offers the page itself to AI clients: `navigate`, `interact`, `get_state`, `get_pages`, `page_snapshot` and `page_query`,
 * and `page_screenshot` if the app can take screenshots.
 *
 * Another call for the same `McpWeb` applies the new options and returns the same handle. AI clients do not see elements
 * with `data-mcp-private`, the values of passwords and other secrets, and content outside of {@link PageToolsOptions.root}.
 *
 * @param mcpWeb the page's connection
 * @param options how AI clients may use the page
 * @throws TypeError if the app already has a tool with such a name, or an option is invalid; RangeError if a limit is out
 * of range.
 */
export function enablePageTools(mcpWeb: McpWeb, options: PageToolsOptions = {}): PageToolsHandle {
  const former = enabled.get(mcpWeb);
  if (former) {
    former.tools.update(options);
    return former.handle;
  }
  const tools = new PageTools(mcpWeb, options, (options) => new DomDriver(options));
  const handle: PageToolsHandle = {
    get ready() {
      return tools.ready;
    },
    remove() {
      enabled.delete(mcpWeb);
      return tools.remove();
    },
  };
  enabled.set(mcpWeb, { tools, handle });
  return handle;
}

/**
 * Page tools: AI clients see the page as text and use it as its user does, with their login and in the tab that they look
 * at. One line is enough; tools that the app has written itself stay the better choice for what they do.
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

/** What {@link enablePageTools} returns. */
export interface PageToolsHandle {
  /** Fulfilled once clients can use the tools; rejected when the bridge refuses one of them. */
  readonly ready: Promise<void>;
  /** Removes the tools; what was done stays. Fulfilled once no client can use them. */
  remove(): Promise<void>;
}

const enabled = new WeakMap<McpWeb, { tools: PageTools; handle: PageToolsHandle }>();

/**
 * Offers the page itself to AI clients: `navigate`, `interact`, `get_state`, `get_pages`, `page_snapshot` and `page_query`,
 * and `page_screenshot` where the app can make one.
 *
 * Called again for the same `McpWeb`, it takes the newer options and returns the same handle. What is not shown to AI
 * clients: elements with `data-mcp-private`, the values of passwords and other secrets, and what is outside of
 * {@link PageToolsOptions.root}.
 *
 * @param mcpWeb the page's connection
 * @param options how AI clients may use the page
 * @throws TypeError when the app has a tool of such a name already, or an option is none; RangeError when a limit is out of
 * its range.
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

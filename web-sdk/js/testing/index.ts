/**
 * Tests an app's tools without a bridge, a browser or a network. The pages of a test connect to a bridge in memory, which
 * routes, validates and answers like the real one.
 *
 * ```ts
 * import { connectTestClient } from "mcp-web-sdk/testing";
 * import { mcpWeb } from "./app";
 *
 * const client = await connectTestClient(mcpWeb);
 * const { structuredContent } = await client.callTool("add_task", { title: "Milk" });
 * ```
 *
 * Requires a document: jsdom or happy-dom in Node (`environment: "jsdom"` in Vitest), or a browser. Importing the module is
 * enough to prevent the test's pages from connecting to a real bridge.
 *
 * @packageDocumentation
 */

import type { McpWeb } from "../mcp-web.ts";
import { InMemoryClient } from "./in-memory-client.ts";
import { serverOf } from "./pages.ts";
import type { TestClient, TestClientOptions } from "./types.ts";

export type * from "./types.ts";
export { McpError } from "./mcp-error.ts";

/**
 * Connects an MCP client to a page, and the page to the bridge in memory. Items that were added before are available when
 * the promise is fulfilled; items that are added later are available at the next request.
 *
 * @param mcpWeb the page's `McpWeb`
 * @throws Error if the page cannot connect, for example without a document.
 *
 * @example
 * ```ts
 * await using client = await connectTestClient(mcpWeb, { elicit: () => ({ action: "accept", content: { sure: true } }) });
 * const result = await client.callTool("clear_board");
 * ```
 */
export async function connectTestClient(mcpWeb: McpWeb, options: TestClientOptions = {}): Promise<TestClient> {
  const client = new InMemoryClient(await serverOf(mcpWeb), options);
  await client.settle();
  return client;
}

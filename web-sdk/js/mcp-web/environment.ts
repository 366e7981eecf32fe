/** Where this code runs: a document or a worker. `node/environment.ts` replaces this for `mcp-web-sdk/node`. */

import { read } from "../dom/native.ts";
import type { McpWebOptions } from "../types/options.ts";
import type { HostEnvironment, PageFacts } from "./core.ts";

/** Code that runs in Node, Deno or Bun to render pages has no document, and no business with a bridge. */
export const canConnect =
  typeof WebSocket === "function" &&
  (typeof document === "object" || "WorkerGlobalScope" in globalThis);

/** Returns what the bridge is told of the page, besides what the app says. */
export const pageFacts = (): PageFacts => ({
  origin: globalThis.location?.origin,
  userAgent: globalThis.navigator?.userAgent,
  visibility: () =>
    globalThis.document && {
      visible: !read(document, "hidden"),
      focused: read(document, "hasFocus").call(document),
      title: read(document, "title"),
    },
});

/** Returns what the wasm uses of the browser. */
export const hostEnvironment = (_options: McpWebOptions): HostEnvironment => ({
  openSocket: (url) => new WebSocket(url),
  listen: (event, listener, isCapturing) => addEventListener(event, listener, isCapturing),
});

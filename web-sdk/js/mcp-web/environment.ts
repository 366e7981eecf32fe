/** The environment of this code: a document or a worker. `node/environment.ts` replaces this for `mcp-web-sdk/node`. */

import { read } from "../dom/native.ts";
import type { McpWebOptions } from "../types/options.ts";
import type { HostEnvironment, PageFacts } from "./core.ts";

/** Code that renders pages in Node, Deno or Bun has no document, and must not connect to a bridge. */
export const canConnect =
  typeof WebSocket === "function" &&
  (typeof document === "object" || "WorkerGlobalScope" in globalThis);

/** Returns the facts about the page for the bridge, besides those that the app provides. */
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

/** Returns the functions of the browser that the wasm uses. */
export const hostEnvironment = (_options: McpWebOptions): HostEnvironment => ({
  openSocket: (url) => new WebSocket(url),
  listen: (event, listener, isCapturing) => addEventListener(event, listener, isCapturing),
});

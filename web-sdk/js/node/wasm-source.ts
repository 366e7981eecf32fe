/**
 * The source of the wasm of this package: a file, which `fetch` of Node cannot read. It replaces `mcp-web/wasm-source.ts`.
 */

import { readFileSync } from "node:fs";

import type { CoreGlue } from "../mcp-web/core.ts";
import type { WasmSource } from "../mcp-web/load.ts";

export const wasmSource: WasmSource = {
  // Built from the crate by `cargo xtask sdk`.
  importGlue: () => import("../mcp_web_core.js" as string) as Promise<CoreGlue>,
  importFallback: () => import("../mcp-web-wasm-fallback.ts"),
  wasm: () => readFileSync(new URL("./mcp_web_core_bg.wasm", import.meta.url)),
};

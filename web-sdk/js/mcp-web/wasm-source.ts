/**
 * The source of the wasm of this package: a file beside the module. `wasm-source-inline.ts` replaces this for
 * `mcp-web-sdk/inline`.
 */

import type { CoreGlue } from "./core.ts";
import type { WasmSource } from "./load.ts";

export const wasmSource: WasmSource = {
  // Built from the crate by `cargo xtask sdk`.
  importGlue: () => import("./mcp_web_core.js" as string) as Promise<CoreGlue>,
  importFallback: () => import("../mcp-web-wasm-fallback.ts"),
  wasm: () => new URL("./mcp_web_core_bg.wasm", import.meta.url),
};

/**
 * The wasm inside the module: `mcp-web-sdk/inline` is built with this file instead of `wasm-source.ts`, as a single file.
 */

import { wasm } from "../mcp-web-wasm.js";
import * as glue from "../mcp_web_core.js";
import { decodeBase64 } from "./base64.ts";
import type { WasmSource } from "./load.ts";

export const wasmSource: WasmSource = {
  importGlue: async () => glue,
  wasm: () => decodeBase64(wasm),
  importFallback: () => import("../mcp-web-wasm-fallback.ts"),
};

/** Loads the wasm. If that fails, `mcp-web-wasm-fallback.js` finds another source, or reports the problem. */

import type { McpWebOptions } from "../types/options.ts";
import type { CoreGlue } from "./core.ts";
import { McpWebError } from "./error.ts";

/** The default source of the wasm. */
export interface WasmSource {
  /** Loads the JavaScript that belongs to the wasm. */
  importGlue(): Promise<CoreGlue>;
  /** Returns the wasm, or its address. Throws if a bundler has removed the address of the module. */
  wasm(): URL | BufferSource;
  importFallback(): Promise<typeof import("../mcp-web-wasm-fallback.ts")>;
}

/** The wasm in the types that an app may pass. */
type WasmOption = McpWebOptions["wasm"];

let core: Promise<CoreGlue> | undefined;

/**
 * Returns the JavaScript of the wasm, ready to use. It is loaded once per document. A failure is not cached, so that
 * `connect()` can try again.
 */
export function loadCore(source: WasmSource, wasm: WasmOption): Promise<CoreGlue> {
  core ??= load(source, wasm).catch((error) => {
    core = undefined;
    throw error;
  });
  return core;
}

async function load(source: WasmSource, wasm: WasmOption): Promise<CoreGlue> {
  const [glue, module] = await Promise.all([
    source.importGlue().catch((cause) => {
      throw loadError("mcp_web_core.js could not be loaded (does script-src allow it?)", cause);
    }),
    compile(source, wasm),
  ]);
  try {
    const { exports } = await WebAssembly.instantiate(module, { glue: glue as unknown as WebAssembly.ModuleImports });
    glue.__wbg_set_wasm(exports);
    (exports.__wbindgen_start as () => void)();
  } catch (cause) {
    throw loadError((cause as Error).message, cause);
  }
  return glue;
}

async function compile(source: WasmSource, wasm: WasmOption): Promise<WebAssembly.Module> {
  let response: Response | undefined;
  try {
    const given: unknown = (await wasm) ?? source.wasm();
    if (given instanceof WebAssembly.Module) return given;
    if (given instanceof ArrayBuffer || ArrayBuffer.isView(given)) return await WebAssembly.compile(given as BufferSource);
    response = given instanceof Response ? given : await fetch(given as URL);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (cause) {
    const { recover } = await source.importFallback().catch(() => {
      throw loadError((cause as Error).message, cause);
    });
    return recover(cause as Error, response, wasm !== undefined);
  }
}

function loadError(reason: string, cause: unknown): McpWebError {
  return new McpWebError("WasmLoadFailed", `MCP-Web could not start: ${reason}`, { cause });
}

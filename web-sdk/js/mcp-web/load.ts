/** Loads the wasm, and says what is wrong when it cannot. */

import { McpWebError } from "./error.js";

const SERVE_IT = "serve mcp_web_core_bg.wasm of the SDK's package there";

let core;

/**
 * The exports of the wasm's JavaScript, ready to use. Loaded once per document; a failure is forgotten,
 * so that `connect()` can try again.
 */
export function loadCore(importGlue, wasmUrl) {
  core ??= load(importGlue, wasmUrl).catch((error) => {
    core = undefined;
    throw error;
  });
  return core;
}

async function load(importGlue, wasmUrl) {
  const [glue, module] = await Promise.all([
    importGlue().catch((cause) => {
      throw loadFailed("its script mcp_web_core.js could not be loaded (does script-src allow it?)", cause);
    }),
    compile(unbundled(wasmUrl)),
  ]);
  try {
    const { exports } = await WebAssembly.instantiate(module, { glue });
    glue.__wbg_set_wasm(exports);
    exports.__wbindgen_start();
  } catch (cause) {
    throw loadFailed(cause.message, cause);
  }
  return glue;
}

/** In development, Vite before version 8 bundles packages elsewhere and leaves the wasm where it is. */
function unbundled(url) {
  return url.href.replace("/.vite/deps/", "/mcp-web-sdk/");
}

async function compile(url) {
  const bytes = await fetched(url);
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    if (/CSP|Content Security Policy|unsafe-eval/i.test(cause.message)) {
      throw new McpWebError(
        "WasmBlocked",
        "the page's Content-Security-Policy blocks WebAssembly: add 'wasm-unsafe-eval' to its script-src directive",
        { cause },
      );
    }
    throw loadFailed(`${url} is another file than the SDK's (${cause.message}): ${SERVE_IT}`, cause);
  }
}

async function fetched(url) {
  let response;
  try {
    response = await fetch(url);
    if (response.ok) return await response.arrayBuffer();
  } catch (cause) {
    const advice = "check that its server runs, and that connect-src of the page's Content-Security-Policy allows it";
    throw loadFailed(`${url} could not be fetched (${cause.message}): ${advice}; connect() tries again`, cause);
  }
  throw loadFailed(`${url} is not there (HTTP ${response.status}): ${SERVE_IT}`);
}

function loadFailed(why, cause) {
  return new McpWebError("WasmLoadFailed", `MCP-Web could not start: ${why}`, { cause });
}

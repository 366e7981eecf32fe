/**
 * Finds another source of the wasm if the file cannot be loaded: bundlers may not copy it, and development servers may not
 * serve it. If there is none, the error has advice.
 */

import { decodeBase64 } from "./mcp-web/base64.ts";
import { McpWebError } from "./mcp-web/error.ts";

const REMEDY =
  "serve mcp_web_core_bg.wasm of the SDK's package there, or pass its address as new McpWeb({ wasm }): in Vite " +
  'import wasm from "mcp-web-sdk/mcp_web_core_bg.wasm?url", in webpack and Next ' +
  'new URL("mcp-web-sdk/mcp_web_core_bg.wasm", import.meta.url)' + ", or import mcp-web-sdk/inline, which needs no file";

/**
 * Returns the compiled wasm from a module of this package that contains it.
 *
 * `cause` is the error of loading the file, and `response` the answer of the server. Wasm that an app has passed is not
 * replaced (`isGiven`): in that case the error describes the problem with it.
 */
export async function recover(cause: Error, response: Response | undefined, isGiven: boolean): Promise<WebAssembly.Module> {
  if (/CSP|Content Security Policy|unsafe-eval/i.test(cause.message)) {
    throw new McpWebError(
      "WasmBlocked",
      "the page's Content-Security-Policy blocks WebAssembly: add 'wasm-unsafe-eval' to its script-src directive",
      { cause },
    );
  }
  const inline = isGiven ? undefined : await importInline().catch(() => undefined);
  if (inline) return WebAssembly.compile(decodeBase64(inline.wasm));
  throw new McpWebError("WasmLoadFailed", `MCP-Web could not start: ${describe(cause, response)}`, { cause });
}

// Built by `cargo xtask sdk`.
const importInline = () => import("./mcp-web-wasm.js" as string) as Promise<{ wasm: string }>;

function describe({ message }: Error, response: Response | undefined): string {
  if (!response) {
    return (
      `the wasm could not be fetched (${message}): check that its server runs, and that connect-src of the page's ` +
      `Content-Security-Policy allows it; connect() tries again. Or ${REMEDY}`
    );
  }
  const { ok, status, url } = response;
  if (!ok) return `${url} is not there (HTTP ${status}): ${REMEDY}`;
  return `${url} is another file than the SDK's wasm (${message}): ${REMEDY}`;
}

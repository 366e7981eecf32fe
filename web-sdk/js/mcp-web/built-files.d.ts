/** The files that `cargo xtask sdk` builds from the crate. */

declare module "*/mcp_web_core.js" {
  export const Connection: import("./core.ts").CoreGlue["Connection"];
  export const __wbg_set_wasm: import("./core.ts").CoreGlue["__wbg_set_wasm"];
}

declare module "*/mcp-web-wasm.js" {
  /** The wasm in base64. */
  export const wasm: string;
}

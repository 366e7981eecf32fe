/** Loads the bridge, which is wasm. */

/** The MCP server of one token: the crate `web-sdk-testing`. Methods with events return them as JSON. */
export interface WasmServer {
  connectionOpened(connection: number, session: string): void;
  frameArrived(connection: number, frame: string, at: number): string;
  connectionClosed(connection: number, code: number, at: number): string;
  clientConnected(name: string, version: string, capabilities: string): number;
  clientDisconnected(client: number, at: number): string;
  takeEvents(): string;
  request(client: number, id: number, method: string, params: string, at: number): string;
  cancel(id: number, at: number): string;
  respond(id: number, key: string, result: string | undefined, error: string, at: number): string;
  nextDeadline(): number | undefined;
  deadlinePassed(at: number): string;
}

/** The JavaScript of the wasm. */
interface Glue {
  initSync(options: { module: BufferSource }): void;
  TestServer: new (unixMs: number) => WasmServer;
}

let glue: Promise<Glue> | undefined;

/** Returns the JavaScript of the wasm, ready to use. */
export function loadWasm(): Promise<Glue> {
  // A failed load may succeed at the next attempt.
  glue ??= load().catch((error) => {
    glue = undefined;
    throw error;
  });
  return glue;
}

async function load(): Promise<Glue> {
  // Built from the crate by `cargo xtask sdk`.
  const [glue, module] = await Promise.all([import("./mcp_web_testing.js" as string) as Promise<Glue>, readWasm()]);
  glue.initSync({ module });
  return glue;
}

async function readWasm(): Promise<BufferSource> {
  const here = import.meta.url;
  if (!here.startsWith("file:")) {
    return (await fetch(new URL("./mcp_web_testing_bg.wasm", import.meta.url))).arrayBuffer();
  }
  // Node's `fetch` cannot read files. Bundlers must not resolve these modules, and must not replace the address of the file
  // by one on a server, which does not exist in a test.
  const [files, urls] = ["node:fs/promises", "node:url"];
  const [{ readFile }, { fileURLToPath }] = await Promise.all([
    import(/* @vite-ignore */ files!),
    import(/* @vite-ignore */ urls!),
  ]);
  const file = new URL(["mcp_web_testing_bg", "wasm"].join("."), here);
  return readFile(fileURLToPath(file.href));
}

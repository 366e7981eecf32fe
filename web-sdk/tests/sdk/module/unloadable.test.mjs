// A document whose wasm cannot be loaded: Node does not fetch files.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = {};
const { McpWeb } = await import("../../../js/mcp-web.ts");
const { loadCore } = await import("../../../js/mcp-web/load.ts");

const handler = () => {};

/** Lets the next `McpWeb` be the first, as in a new document. */
const forgetPages = () => globalThis[Symbol.for("mcp-web.pages")]?.clear();

/** Creates a page, and returns its console output while `use` ran. */
async function withPage(options, use) {
  const { error, warn } = console;
  const written = [];
  forgetPages();
  console.error = console.warn = (text) => written.push(text);
  try {
    await use(new McpWeb({ name: "My board", ...options }), written);
  } finally {
    Object.assign(console, { error, warn });
  }
}

/** Answers every `fetch` with `answer` while `use` runs. */
async function withServer(answer, use) {
  const { fetch } = globalThis;
  globalThis.fetch = async () => answer();
  try {
    await use();
  } finally {
    globalThis.fetch = fetch;
  }
}

test("everything that waits for the wasm fails with the reason", () =>
  withPage({}, async (mcpWeb, written) => {
    const states = [];
    mcpWeb.onStatusChange(({ state }) => states.push(state));
    assert.equal(mcpWeb.status.state, "loading");
    const tool = mcpWeb.addTool({ name: "now", handler });
    await assert.rejects(tool.registered, { name: "McpWebError", code: "WasmLoadFailed" });
    assert.equal(mcpWeb.status.error.code, "WasmLoadFailed");
    assert.equal(written.length, 1, "one reason, said once");
    await assert.rejects(mcpWeb.addTool({ name: "later", handler }).registered, { code: "WasmLoadFailed" });
    await assert.rejects(mcpWeb.connect(), { code: "WasmLoadFailed" });
    assert.deepEqual(states, ["failed", "loading", "failed"]);
  }));

test("a query fails for the same reason, whether it is sent before or after the failure", () =>
  withPage({}, async (mcpWeb) => {
    const query = mcpWeb.query({ prompt: "?" });
    await assert.rejects(query.result, { code: "WasmLoadFailed" });
    await assert.rejects(mcpWeb.query({ prompt: "?" }).result, { code: "WasmLoadFailed" });
    assert.equal(query.state, "failed");
  }));

const answers = [
  ["that is not there", () => new Response("", { status: 404 }), /HTTP 404.*mcp_web_core_bg\.wasm\?url/],
  ["that is a page", () => new Response("<!doctype html>"), /another file.*mcp_web_core_bg\.wasm\?url/],
  ["that cannot be fetched", () => Promise.reject(new TypeError("Failed to fetch")), /Failed to fetch.*connect-src.*connect\(\)/],
];
const source = {
  importGlue: async () => ({}),
  wasm: () => new URL("http://localhost:5173/mcp_web_core_bg.wasm"),
  importFallback: () => import("../../../js/mcp-web-wasm-fallback.ts"),
};
for (const [what, answer, message] of answers) {
  test(`a wasm file ${what} is reported with advice`, () =>
    withServer(answer, () => {
      const loaded = loadCore(source, undefined);
      return assert.rejects(loaded, { name: "McpWebError", code: "WasmLoadFailed", message });
    }));
}

/** The smallest module, for an SDK whose glue does nothing. */
const WASM = Buffer.from(
  "0061736d010000000104016000000302010007140110" + "5f5f7762696e6467656e5f7374617274" + "00000a040102000b",
  "hex",
);
const given = [
  ["an address", () => "http://localhost:5173/copy.wasm"],
  ["a URL", () => new URL("http://localhost:5173/copy.wasm")],
  ["a response", () => new Response(WASM)],
  ["bytes", () => new Uint8Array(WASM)],
  ["a buffer", () => new Uint8Array(WASM).buffer],
  ["a module", () => new WebAssembly.Module(WASM)],
  ["a promise", async () => new Response(WASM)],
];
test("an app can pass the wasm itself", () =>
  withServer(() => new Response(WASM), async () => {
    for (const [what, wasm] of given) {
      // Each load is another copy of the module, because the wasm is loaded once per document.
      const { loadCore } = await import(`../../../js/mcp-web/load.ts?${what}`);
      const used = [];
      const glue = { __wbg_set_wasm: (exports) => used.push(...Object.keys(exports)) };
      const importFallback = () => assert.fail(what);
      assert.equal(await loadCore({ ...source, importGlue: async () => glue, importFallback }, wasm()), glue, what);
      assert.deepEqual(used, ["__wbindgen_start"], what);
    }
  }));

test("a wrong wasm file passed by the app is an error, and is not replaced", () =>
  assert.rejects(loadCore(source, new Response("<!doctype html>")), { code: "WasmLoadFailed", message: /another file/ }));

test("a tool that is replaced or removed early is distinguished from one that failed", () =>
  withPage({}, async (mcpWeb) => {
    const former = mcpWeb.addTool({ name: "now", handler });
    const latter = mcpWeb.addTool({ name: "now", handler });
    await former.remove();
    await assert.rejects(former.registered, { code: "Removed" });
    await assert.rejects(latter.registered, { code: "WasmLoadFailed" });
  }));

test("nothing is loaded before it is needed, nor after it is no longer needed", () =>
  withPage({ autoConnect: false }, async (mcpWeb) => {
    assert.equal(mcpWeb.status.state, "idle");
    const wanted = mcpWeb.connect();
    await mcpWeb.disconnect();
    await assert.rejects(wanted, { code: "Disconnected" });
    assert.equal(mcpWeb.status.state, "disconnected");
  }));

test("the configuration is available immediately, with the token", () =>
  withPage({ autoConnect: false, bridgeUrl: "http://localhost:4000" }, (mcpWeb) => {
    const AUTH_TOKEN = mcpWeb.authToken;
    assert.match(AUTH_TOKEN, /^[0-9a-f]{48}$/);
    const env = { MCP_SERVER_URL: "http://localhost:4000/mcp", AUTH_TOKEN };
    assert.deepEqual(JSON.parse(JSON.stringify(mcpWeb.mcpConfig)), {
      mcpServers: { "My-board": { command: "mcp-web", args: ["stdio"], env } },
    });
    const headers = { Authorization: `Bearer ${AUTH_TOKEN}` };
    assert.deepEqual(mcpWeb.remoteMcpConfig, {
      mcpServers: { "My-board": { type: "http", url: "http://localhost:4000/mcp", headers } },
    });
  }));

test("a generated token is stored per bridge, and storage that throws is ignored", () => {
  const kept = new Map();
  globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  /** Each object is in a new document. */
  const token = (options) => forgetPages() ?? new McpWeb({ name: "Board", autoConnect: false, ...options }).authToken;
  assert.equal(token({}), token({}));
  assert.notEqual(token({}), token({ bridgeUrl: "http://localhost:4000" }));
  assert.notEqual(token({}), token({ storage: "none" }));
  assert.deepEqual([...kept.keys()], ["mcp-web:token:http://localhost:3001", "mcp-web:token:http://localhost:4000"]);
  Object.defineProperty(globalThis, "localStorage", { get: () => { throw new Error("forbidden"); } });
  assert.match(token({}), /^[0-9a-f]{48}$/);
  assert.equal(token({ authToken: "given-0123456789" }), "given-0123456789");
  assert.equal(token({ authToken: () => "fetched" }), undefined);
});

test("a listener that throws has no effect on others", () =>
  withPage({ autoConnect: false }, async (mcpWeb) => {
    const states = [];
    mcpWeb.onStatusChange(() => {
      throw new Error("mine");
    });
    const stop = mcpWeb.onStatusChange(({ state }) => states.push(state));
    await mcpWeb.disconnect();
    stop();
    await mcpWeb.disconnect();
    assert.deepEqual(states, ["disconnected"]);
  }));

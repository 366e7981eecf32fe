// The module on a server that renders pages, where no tools can be called.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { McpWeb, McpWebError } from "../../../js/mcp-web.ts";
import { resolveBridgeUrl } from "../../../js/mcp-web/options.ts";
import { VERSION } from "../../../js/mcp-web/version.ts";

const handler = () => {};

test("the module, the package and the workspace have one version", async () => {
  const read = (path) => readFile(new URL(`../../../${path}`, import.meta.url), "utf8");
  assert.equal(JSON.parse(await read("js/package.json")).version, VERSION);
  assert.equal(/^\[workspace\.package\]\nversion = "(.*)"$/m.exec(await read("../Cargo.toml"))[1], VERSION);
});

test("a server can import the module and make a page's tools", async () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const tool = mcpWeb.addTool({ name: "now", handler });
  assert.deepEqual(mcpWeb.status, { state: "idle" });
  assert.equal(tool.name, "now");
  assert.equal(mcpWeb.sessionId, undefined);
  assert.equal(mcpWeb.mcpConfig, undefined);
  await tool.remove();
  await mcpWeb.disconnect();
  assert.deepEqual(mcpWeb.status, { state: "idle" });
});

test("connecting on a server fails with a reason", async () => {
  const error = await new McpWeb({ name: "Board" }).connect().catch((error) => error);
  assert.ok(error instanceof McpWebError);
  assert.equal(error.code, "NotInBrowser");
});

test("a query on a server fails, and none can be resumed", async () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const query = mcpWeb.query({ prompt: "Summarise the board" });
  await assert.rejects(query.result, { name: "McpWebError", code: "NotInBrowser" });
  assert.equal(query.state, "failed");
  await assert.rejects(mcpWeb.attachQuery(query.uuid).result, { code: "NotInBrowser" });
  assert.deepEqual(mcpWeb.openQueries, []);
});

test("a diagnosis on a server reports that it is on a server", async () => {
  const { ok, summary } = await new McpWeb({ name: "Board", bridgeUrl: "http://127.0.0.1:9" }).diagnose();
  assert.equal(ok, false);
  assert.match(summary, /\[FAILED\] browser: this code runs on a server/);
});

test("an invalid option is rejected with advice", () => {
  const refused = [
    [undefined, /needs the name of your app/],
    [{ name: " " }, /needs the name of your app/],
    [{ name: "Board", bridgeUrl: "nowhere" }, /bridgeUrl "nowhere" is not a URL/],
    [{ name: "Board", bridgeUrl: "ftp://bridge" }, /must start with http/],
    [{ name: "Board", authToken: "" }, /authToken must be/],
    [{ name: "Board", authToken: 7 }, /authToken must be/],
    [{ name: "Board", storage: "disk" }, /storage must be/],
    [{ name: "Board", sessionId: 7 }, /sessionId must be/],
    [{ name: "Board", elicitInPage: true }, /elicitInPage must be/],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => new McpWeb(options), { name: "TypeError", message });
  }
});

test("an invalid tool definition is rejected with advice", () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  class Schema {}
  const refused = [
    [undefined, /needs an object/],
    [{ handler }, /name must be a non-empty string/],
    [{ name: "", handler }, /name must be a non-empty string/],
    [{ name: "now" }, /needs a function handler/],
    [{ name: "now", handler, description: 7 }, /description of tool "now" must be a string/],
    [{ name: "now", handler, inputSchema: [] }, /inputSchema of tool "now" must be a JSON Schema, or/],
    [{ name: "now", handler, inputSchema: new Schema() }, /z\.toJSONSchema/],
    [{ name: "now", handler, outputSchema: { "~standard": {} } }, /outputSchema of tool "now"/],
    [{ name: "now", handler, timeout: 0 }, /timeout of tool "now" must be a whole number of milliseconds/],
    [{ name: "now", handler, _meta: { count: 1n } }, /is not JSON/],
  ];
  for (const [definition, message] of refused) {
    assert.throws(() => mcpWeb.addTool(definition), { name: "TypeError", message });
  }
});

test("an invalid prompt, resource, template or app is rejected with advice", () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const read = () => "";
  const get = () => "";
  const refused = [
    ["addPrompt", { name: "p" }, /needs a function get/],
    ["addPrompt", { name: "p", get, arguments: {} }, /must be an array/],
    ["addPrompt", { name: "p", get, arguments: [{}] }, /needs a name/],
    ["addPrompt", { name: "p", get, arguments: [{ name: "x", complete: [] }] }, /complete for x.*must be a function/],
    ["addResource", { name: "r", read }, /uri must be a non-empty string/],
    ["addResource", { uri: "cards", name: "r", read }, /must be absolute/],
    ["addResource", { uri: "a:b", read }, /needs a name/],
    ["addResource", { uri: "a:b", name: "r" }, /needs a function read/],
    ["addResource", { uri: "a:b", name: "r", read, mimeType: 7 }, /mimeType .* must be a string/],
    ["addResource", { uri: "a:b", name: "r", read, onSubscribe: 7 }, /onSubscribe/],
    ["addResourceTemplate", { uriTemplate: "a:b", name: "t", read }, /has no variable/],
    ["addResourceTemplate", { uriTemplate: "a:{b}", name: "t", read, complete: () => [] }, /complete .* must be an object/],
    ["addResourceTemplate", { uriTemplate: "a:{b}", name: "t", read, complete: { b: [] } }, /must be a function/],
    ["addApp", { name: "a", handler }, /either html or url/],
    ["addApp", { name: "a", handler, html: "", url: "" }, /either html or url/],
    ["addApp", { name: "a", handler, html: 7 }, /html of app "a" must be/],
    ["addApp", { name: "a", html: "" }, /needs a function handler/],
    ["addApp", { html: "", handler }, /name must be/],
  ];
  for (const [method, definition, message] of refused) {
    assert.throws(() => mcpWeb[method](definition), { name: "TypeError", message }, `${method} ${JSON.stringify(definition)}`);
  }
});

test("items added on a server can be changed and removed, and are never registered", async () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const prompt = mcpWeb.addPrompt({ name: "p", get: () => "" });
  prompt.update({ description: "P" });
  await prompt.remove();
  await assert.rejects(prompt.registered, { code: "Removed" });
  await assert.rejects(prompt.update({}), { code: "Removed" });
  const app = mcpWeb.addApp({ name: "a", html: "", handler });
  assert.equal(app.resourceUri, "ui://board/a");
  app.update({ description: "A" });
  mcpWeb.notifyResourceUpdated("a:b");
  await app.remove();
});

test("a tool is removed by its signal and at the end of its block", async () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const late = mcpWeb.addTool({ name: "late", handler }, { signal: AbortSignal.abort() });
  await assert.rejects(late.registered, { code: "Removed" });
  const page = new AbortController();
  const tool = mcpWeb.addTool({ name: "now", handler }, { signal: page.signal });
  page.abort();
  await assert.rejects(tool.registered, { code: "Removed" });
  const scoped = mcpWeb.addTool({ name: "scoped", handler });
  scoped[Symbol.dispose ?? Symbol.for("Symbol.dispose")]();
  await assert.rejects(scoped.registered, { code: "Removed" });
});

test("the bridge's address is normalised", () => {
  const forms = {
    "ws://bridge:3001/": "http://bridge:3001",
    "wss://bridge/base/?query#hash": "https://bridge/base",
    "http://user:secret@bridge": "http://bridge",
  };
  for (const [given, form] of Object.entries(forms)) {
    assert.equal(new McpWeb({ name: "Board", bridgeUrl: given }).bridgeUrl, form);
  }
  assert.equal(new McpWeb({ name: "Board" }).bridgeUrl, "http://localhost:3001");
});

test("the bridge that serves the module is the default, with the path of its public URL", () => {
  const bridges = {
    "https://bridge/sdk/mcp-web.js": "https://bridge",
    "https://host:8443/apps/bridge/sdk/mcp-web.js?v=1": "https://host:8443/apps/bridge",
    "https://host/sdk/sdk/mcp-web-inline.js#a": "https://host/sdk",
    "https://host/assets/mcp-web.js": "http://localhost:3001",
    "https://host/sdk/app.js": "http://localhost:3001",
    "https://host/app.js?from=/sdk/mcp-web.js": "http://localhost:3001",
    "file:///app/sdk/mcp-web.js": "http://localhost:3001",
  };
  for (const [module, bridge] of Object.entries(bridges)) assert.equal(resolveBridgeUrl(undefined, module), bridge);
});

test("a converted schema of a library is a JSON Schema, and the library's own schema is not", () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const converted = Object.defineProperty({ type: "object" }, "~standard", { value: { vendor: "zod" }, enumerable: false });
  assert.equal(mcpWeb.addTool({ name: "converted", inputSchema: converted, handler }).name, "converted");
  const library = { type: "object", "~standard": { vendor: "zod" } };
  assert.throws(() => mcpWeb.addTool({ name: "library", inputSchema: library, handler }), /z\.toJSONSchema/);
});

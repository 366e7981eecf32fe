// Where pages are rendered, and nobody can call a tool.
import assert from "node:assert/strict";
import { test } from "node:test";
import { McpWeb, McpWebError } from "../../../js/mcp-web.js";

const handler = () => {};

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

test("connecting on a server says what is wrong", async () => {
  const error = await new McpWeb({ name: "Board" }).connect().catch((error) => error);
  assert.ok(error instanceof McpWebError);
  assert.equal(error.code, "NotInBrowser");
});

test("a wrong option is refused with what to do", () => {
  const refused = [
    [undefined, /needs the name of your app/],
    [{ name: " " }, /needs the name of your app/],
    [{ name: "Board", bridgeUrl: "nowhere" }, /bridgeUrl "nowhere" is not a URL/],
    [{ name: "Board", bridgeUrl: "ftp://bridge" }, /must start with http/],
    [{ name: "Board", authToken: "" }, /authToken must be/],
    [{ name: "Board", authToken: 7 }, /authToken must be/],
    [{ name: "Board", storage: "disk" }, /storage must be/],
    [{ name: "Board", sessionId: 7 }, /sessionId must be/],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => new McpWeb(options), { name: "TypeError", message });
  }
});

test("a definition that is no tool is refused with what to do", () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  class Schema {}
  const refused = [
    [undefined, /needs an object/],
    [{ handler }, /name must be a non-empty string/],
    [{ name: "", handler }, /name must be a non-empty string/],
    [{ name: "now" }, /needs a handler/],
    [{ name: "now", handler, description: 7 }, /description of tool "now" must be a string/],
    [{ name: "now", handler, inputSchema: [] }, /inputSchema of tool "now" must be a JSON Schema object/],
    [{ name: "now", handler, inputSchema: new Schema() }, /z\.toJSONSchema/],
    [{ name: "now", handler, outputSchema: { "~standard": {} } }, /outputSchema of tool "now"/],
    [{ name: "now", handler, _meta: { count: 1n } }, /is not JSON/],
  ];
  for (const [definition, message] of refused) {
    assert.throws(() => mcpWeb.addTool(definition), { name: "TypeError", message });
  }
});

test("a tool ends with its signal and with its block", async () => {
  const mcpWeb = new McpWeb({ name: "Board" });
  const late = mcpWeb.addTool({ name: "late", handler }, { signal: AbortSignal.abort() });
  await assert.rejects(late.registered, { code: "ToolRemoved" });
  const page = new AbortController();
  const tool = mcpWeb.addTool({ name: "now", handler }, { signal: page.signal });
  page.abort();
  await assert.rejects(tool.registered, { code: "ToolRemoved" });
  const scoped = mcpWeb.addTool({ name: "scoped", handler });
  scoped[Symbol.dispose ?? Symbol.for("Symbol.dispose")]();
  await assert.rejects(scoped.registered, { code: "ToolRemoved" });
});

test("the bridge's address has one form", () => {
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

// The entry `mcp-web-sdk/node` by itself, in the installed package.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** The descriptors of all properties of the global object, and the listeners of the process. */
function snapshot() {
  const properties = Object.getOwnPropertyDescriptors(globalThis);
  const values = Reflect.ownKeys(properties).map((key) => [key, properties[key].value ?? properties[key].get]);
  return { values, listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]) };
}

// The first look makes what Node makes when it is looked at.
snapshot();
const before = snapshot();
const { McpWeb, McpWebError, content } = await import("mcp-web-sdk/node");
const after = snapshot();

// Nothing listens at this address.
const AWAY = { name: "Test", bridgeUrl: "http://127.0.0.1:9", autoConnect: false };
const folder = mkdtempSync(join(tmpdir(), "mcp-web-node-entry-"));
test.after(() => rmSync(folder, { recursive: true }));

test("importing the entry changes no global", () => {
  assert.deepEqual(after, before);
});

test("the entry exports what the main entry does", async () => {
  const main = await import("mcp-web-sdk");
  assert.deepEqual(Object.keys({ McpWeb, McpWebError, content }).sort(), Object.keys(main).sort());
});

test("each constructor makes a separate connection", () => {
  const [one, other] = [new McpWeb(AWAY), new McpWeb(AWAY)];
  assert.notEqual(one, other);
  assert.notEqual(one.sessionId, other.sessionId);
});

test("a state file is made once, for its owner only, and keeps token and session", () => {
  const stateFile = join(folder, "new", "state.json");
  const [first, second] = [new McpWeb({ ...AWAY, stateFile }), new McpWeb({ ...AWAY, stateFile })];
  assert.equal(first.authToken.length, 48);
  assert.equal(second.authToken, first.authToken);
  assert.equal(second.sessionId, first.sessionId);
  assert.equal(statSync(stateFile).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, "new")).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(join(folder, "new")), ["state.json"]);
});

test("what the app gives comes before the state file", () => {
  const stateFile = join(folder, "given.json");
  const { authToken, sessionId } = new McpWeb({ ...AWAY, stateFile, authToken: "a token of the app's own", sessionId: "mine" });
  assert.deepEqual({ authToken, sessionId }, { authToken: "a token of the app's own", sessionId: "mine" });
});

test("a state file of another app or bridge is refused and stays unchanged", () => {
  const stateFile = join(folder, "one-app.json");
  new McpWeb({ ...AWAY, stateFile });
  const text = readFileSync(stateFile, "utf8");
  for (const other of [{ name: "Other" }, { bridgeUrl: "http://127.0.0.1:10" }]) {
    assert.throws(() => new McpWeb({ ...AWAY, ...other, stateFile }), /belongs to "Test" at http:\/\/127\.0\.0\.1:9/);
  }
  assert.equal(readFileSync(stateFile, "utf8"), text);
});

test("a damaged state file is refused, and the error shows nothing of it", () => {
  for (const [index, text] of ["", "{", "[]", '{"token":"a secret of 16 bytes"}'].entries()) {
    const stateFile = join(folder, `damaged-${index}.json`);
    writeFileSync(stateFile, text);
    assert.throws(() => new McpWeb({ ...AWAY, stateFile }), (error) => /is damaged: remove it/.test(error.message) && !/secret/.test(error.message));
    assert.equal(readFileSync(stateFile, "utf8"), text);
  }
});

test("a state file that cannot be written says so", () => {
  const file = join(folder, "a-file");
  writeFileSync(file, "");
  assert.throws(() => new McpWeb({ ...AWAY, stateFile: join(file, "state.json") }), { code: "ENOTDIR", message: /^stateFile .* cannot be used: / });
});

test("a wrong option is a TypeError that says what is wrong", () => {
  assert.throws(() => new McpWeb(), { name: "TypeError", message: /needs the name of your app/ });
  assert.throws(() => new McpWeb({ ...AWAY, stateFile: 1 }), { name: "TypeError", message: "stateFile must be a path" });
  assert.throws(() => new McpWeb({ ...AWAY, bridgeUrl: "no URL" }), { name: "TypeError", message: /is not a URL/ });
  assert.throws(() => new McpWeb({ ...AWAY, WebSocket: "ws" }), { name: "TypeError", message: "WebSocket must be a class" });
});

test("a runtime without a WebSocket says what to give, and takes it", async () => {
  const { WebSocket } = globalThis;
  delete globalThis.WebSocket;
  try {
    assert.throws(() => new McpWeb(AWAY), { name: "TypeError", message: /Node before 22.*package "ws"/ });
    const { WebSocket: given } = await import("ws");
    assert.equal(new McpWeb({ ...AWAY, WebSocket: given }).status.state, "idle");
  } finally {
    globalThis.WebSocket = WebSocket;
  }
});

test("a bridge that is away is retried, and disconnect() ends that", async () => {
  const mcpWeb = new McpWeb({ ...AWAY, autoConnect: true });
  const code = await new Promise((resolve) => mcpWeb.onStatusChange(({ error }) => error && resolve(error.code)));
  assert.equal(code, "BridgeUnreachable");
  assert.ok(process.listenerCount("SIGTERM") > 0);
  await mcpWeb.disconnect();
  assert.equal(mcpWeb.status.state, "disconnected");
  assert.equal(process.listenerCount("SIGTERM"), 0);
});

test("what needs a document says so", async () => {
  const mcpWeb = new McpWeb(AWAY);
  assert.throws(() => mcpWeb.addApp({ name: "a", url: "/a.html", handler: () => 1 }), { name: "TypeError", message: /needs its page as html/ });
  mcpWeb.addApp({ name: "b", html: "<p>shown</p>", handler: () => 1 });
  const { ok, summary } = await mcpWeb.diagnose();
  assert.equal(ok, false);
  assert.doesNotMatch(summary, /page|browser/);
  assert.match(summary, /127\.0\.0\.1:9/);
});

test("options are checked before a state file is made", () => {
  const stateFile = join(folder, "unmade.json");
  const wrong = [{ name: "" }, { authToken: "" }, { sessionId: "x".repeat(129) }, { bridgeUrl: "no URL" }];
  for (const options of wrong) assert.throws(() => new McpWeb({ ...AWAY, ...options, stateFile }), { name: "TypeError" });
  assert.ok(!readdirSync(folder).includes("unmade.json"));
  assert.equal(new McpWeb({ ...AWAY, sessionId: "x".repeat(128) }).sessionId.length, 128);
});

// WebMCP: the tools and forms of the browser for AI clients.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeModelContext } from "./webmcp/model-context.mjs";
import { browserTool, call, createPage, imported, importedNames, listed, schema, settled } from "./webmcp/page.mjs";

test("tools of the browser are offered, changed and removed with the browser", async () => {
  const { context, definitions, shared } = createPage();
  const changes = [];
  shared.options = { onImportsChange: (tools) => changes.push(tools.map(({ name, description }) => `${name}: ${description}`)) };
  const controller = new AbortController();
  const annotations = { readOnlyHint: true, untrustedContentHint: true, consequentialHint: true };
  await context.registerTool(browserTool("a", { title: "A", annotations, inputSchema: schema }), { signal: controller.signal });
  await context.registerTool(browserTool("b"));
  await listed(context);
  const [a, b] = imported(definitions);
  assert.deepEqual(JSON.parse(a.json), {
    name: "a",
    title: "A",
    description: "Does a",
    inputSchema: schema,
    annotations: { readOnlyHint: true, destructiveHint: true, openWorldHint: true },
    _meta: { "mcp-web/webmcp": { imported: true, annotations: { ...annotations, debugging: false } } },
  });
  assert.equal(JSON.parse(b.json).annotations, undefined);
  controller.abort();
  await context.registerTool(browserTool("a", { description: "New" }));
  await listed(context);
  assert.deepEqual(imported(definitions).map(({ json }) => JSON.parse(json).description), ["New", "Does b"]);
  assert.equal(JSON.parse(a.json).title, undefined, "what is gone is taken away");
  context.remove("a");
  await listed(context);
  assert.deepEqual(importedNames(definitions), ["b"]);
  assert.deepEqual(changes, [["a: Does a", "b: Does b"], ["a: New", "b: Does b"], ["b: Does b"]]);
  shared.options = false;
  context.remove("nothing");
  definitions.onChange();
  await settled();
  assert.deepEqual(importedNames(definitions), []);
});

test("many changes are one list request, and without a change there is no update", async () => {
  const { context, definitions } = createPage();
  await listed(context);
  context.lists = 0;
  for (let at = 0; at < 20; at++) await context.registerTool(browserTool(`t${at}`));
  await listed(context);
  assert.equal(context.lists, 1);
  const before = imported(definitions).map(({ key }) => key);
  context.addForm("form", "A form", { type: "object", properties: {}, required: [] });
  await listed(context);
  assert.deepEqual(imported(definitions).slice(0, 20).map(({ key }) => key), before);
});

test("tools are not listed while the document is being replaced, because Chromium would crash", async (t) => {
  globalThis.ModelContext = FakeModelContext;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { context, listeners } = createPage();
  const pass = async (ms) => {
    t.mock.timers.tick(ms);
    await settled();
    return context.lists ?? 0;
  };
  assert.equal(await pass(50), 1);
  context.dispatchEvent(new Event("toolchange"));
  listeners.beforeunload();
  context.dispatchEvent(new Event("toolchange"));
  assert.equal(await pass(4_999), 1);
  await pass(1);
  assert.equal(await pass(50), 2, "the document has stayed");
  delete globalThis.ModelContext;
});

test("tools of this document are not imported, whichever `McpWeb` has them", async () => {
  const context = new FakeModelContext();
  const first = createPage({ context });
  first.page.addTool({ name: "t", handler() {} });
  await settled();
  const second = createPage({ context, another: true });
  second.page.addTool({ name: "u", handler() {} });
  await listed(context);
  await listed(context);
  assert.deepEqual([importedNames(first.definitions), importedNames(second.definitions)], [[], []]);
});

test("a tool of the page replaces an imported one with the same name while it exists", async () => {
  const context = new FakeModelContext();
  await context.registerTool(browserTool("t"));
  const { page, definitions } = createPage({ context });
  await listed(context);
  const ours = page.addTool({ name: "t", handler: () => "ours" });
  await listed(context);
  assert.deepEqual(importedNames(definitions), []);
  assert.equal(definitions.all.length, 1);
  ours.remove();
  await listed(context);
  assert.deepEqual(importedNames(definitions), ["t"]);
});

test("tools of frames are imported only on request, after those of the page", async () => {
  for (const frames of [false, true]) {
    const context = new FakeModelContext({ windows: { framed: { of: "a frame" } } });
    await context.registerTool(browserTool("framed"));
    await context.registerTool(browserTool("here"));
    const { definitions } = createPage({ context, options: { frames } });
    await listed(context);
    assert.deepEqual(importedNames(definitions), frames ? ["here", "framed"] : ["here"]);
  }
});

test("the error of a tool of the browser is passed on, and so is a failure inside a result", async () => {
  const context = new FakeModelContext();
  await context.registerTool(browserTool("throws", { execute: () => Promise.reject(new Error("lost")) }));
  await context.registerTool(browserTool("tells", { execute: () => ({ isError: true, error: "why", code: "InvalidArguments", data: { n: 1 } }) }));
  await context.registerTool(browserTool("mcp", { execute: () => ({ content: [{ type: "text", text: "no" }], isError: true }) }));
  await context.registerTool(browserTool("json", { execute: () => ({ content: "none", a: 1 }) }));
  const { definitions } = createPage({ context });
  await listed(context);
  const run = (name) => {
    const { handler } = imported(definitions).find(({ id }) => id === name).definition;
    return handler({}, { signal: new AbortController().signal });
  };
  await assert.rejects(run("throws"), { name: "Error", message: /invocation failed/ });
  await assert.rejects(run("tells"), { message: "why", code: "InvalidArguments", data: { n: 1 } });
  assert.deepEqual(await run("mcp"), { content: [{ type: "text", text: "no" }], isError: true });
  assert.equal(await run("json"), '{"content":"none","a":1}');
  context.remove("throws");
  await assert.rejects(run("throws"), { message: /unknown transient reason/ });
});

/** A form of the document, with the parts that are read. */
const formElement = (attributes) => Object.create({ getAttribute: (name) => attributes[name], hasAttribute: (name) => name in attributes });

test("a form has a timeout for a person, and patterns instead of Chromium's formats", async () => {
  const context = new FakeModelContext();
  const time = { type: "string", format: "^[0-9]{2}:[0-9]{2}$", description: "When" };
  context.addForm("waits", "Waits", { type: "object", properties: { time, day: { type: "string", format: "date" } }, required: [] }, () => {});
  context.addForm("submits", "Submits", { type: "object", properties: {} }, () => {});
  const { definitions } = createPage({ context, forms: [formElement({ toolname: "waits" }), formElement({ toolname: "submits", toolautosubmit: "" })] });
  await listed(context);
  const [submits, waits] = imported(definitions).map(({ json }) => JSON.parse(json));
  assert.deepEqual(waits.inputSchema.properties, { time: { pattern: time.format, type: "string", description: "When" }, day: { type: "string", format: "date" } });
  assert.deepEqual(waits._meta, { "mcp-web/webmcp": { imported: true, form: true }, "mcp-web/timeout": 600_000 });
  assert.deepEqual(submits._meta, { "mcp-web/webmcp": { imported: true, form: true } });
});

test("of two calls of a form, the earlier one is answered, and the browser is notified that it ended", async () => {
  const context = new FakeModelContext();
  const filled = [];
  context.addForm("form", "A form", { type: "object", properties: {} }, (input, call) => filled.push({ input, call }));
  const { definitions } = createPage({ context, forms: [formElement({ toolname: "form" })] });
  await listed(context);
  const [{ definition }] = imported(definitions);
  const run = (input) => definition.handler(input, { signal: new AbortController().signal });
  const first = run({ seat: 1 });
  const second = run({ seat: 2 });
  await assert.rejects(first, /filled in again for a later call/);
  filled[1].call.resolve("reserved");
  assert.equal(await second, "reserved");
  assert.deepEqual(filled.map(({ input }) => input), [{ seat: 1 }, { seat: 2 }]);
  const third = run({ seat: 3 });
  filled[2].call.resolve(null);
  assert.match(await third, /submitted, and the page is navigating/);
});

test("a waiting form call is answered before the page leaves, and by the signal of the call", async () => {
  const context = new FakeModelContext();
  context.addForm("form", "A form", { type: "object", properties: {} }, () => {});
  const { definitions, listeners } = createPage({ context });
  await listed(context);
  const controller = new AbortController();
  const run = () => imported(definitions)[0].definition.handler({}, { signal: controller.signal });
  const unknown = run();
  await listed(context);
  assert.equal(JSON.parse(imported(definitions)[0].json)._meta["mcp-web/webmcp"].form, true, "it was activated as a form is");
  const pending = run();
  listeners.pagehide();
  assert.match(await pending, /navigating/);
  const cancelled = run();
  controller.abort(new Error("the client is gone"));
  await assert.rejects(cancelled, /the client is gone/);
  await assert.rejects(unknown, /the client is gone/);
});

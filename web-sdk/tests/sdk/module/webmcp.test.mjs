// WebMCP: the tools of the page in the browser.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { FakeModelContext } from "./webmcp/model-context.mjs";
import { browserTool, call, createPage, imported, importedNames, listed, schema, settled } from "./webmcp/page.mjs";

const require = createRequire(new URL("../../../../target/tools/web-sdk-node/node_modules/package.json", import.meta.url));
const z = require("zod");

test("a tool of the page becomes a tool of the browser, with the browser's fields", async () => {
  const { context, page } = createPage();
  page.addTool({
    name: "count",
    title: "Count",
    description: "Counts",
    inputSchema: schema,
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: true, openWorldHint: true, idempotentHint: true },
    handler: ({ n }) => ({ n }),
  });
  await settled();
  const [tool] = await context.getTools();
  const { window, origin, ...shown } = tool;
  assert.deepEqual(shown, {
    name: "count",
    title: "Count",
    description: "Counts",
    inputSchema: schema,
    annotations: { readOnlyHint: true, consequentialHint: false, untrustedContentHint: true, debugging: false },
  });
  assert.equal(await context.executeTool(tool, { n: 1 }), '{"n":1}');
});

test("the description that the browser needs is the title, or the name", async () => {
  const { context, page } = createPage();
  page.addTool({ name: "a", handler() {} });
  page.addTool({ name: "b", title: "Bee", description: "", handler() {} });
  page.addTool({ name: "c", annotations: { title: "Sea" }, handler() {} });
  await settled();
  assert.deepEqual((await context.getTools()).map(({ description }) => description), ["a", "Bee", "Sea"]);
});

test("a tool that is not read-only is destructive, unless it declares otherwise", async () => {
  const { context, page } = createPage();
  const hints = [undefined, { readOnlyHint: true }, { destructiveHint: true }, { destructiveHint: false }];
  hints.forEach((annotations, at) => page.addTool({ name: `t${at}`, annotations, handler() {} }));
  await settled();
  assert.deepEqual((await context.getTools()).map(({ annotations }) => annotations.consequentialHint), [true, false, true, false]);
});

test("the name is the published one, once the bridge has changed it", async () => {
  const { context, page, definitions } = createPage();
  page.addTool({ name: "board.count", handler: () => 1 });
  page.addTool({ name: "plain", handler: () => 1 });
  await settled();
  assert.deepEqual(context.log, ["+plain"], "no client could call the other");
  definitions.hostBindings.registered(1, "board-count-1a2b");
  definitions.hostBindings.registered(2, "plain");
  await settled();
  assert.deepEqual(context.log, ["+plain", "+board-count-1a2b"]);
});

test("`webmcp: false` leaves out everything, one direction, or one tool", async () => {
  for (const [options, registered, offered] of [
    [true, ["+here", "+page"], ["here"]],
    [undefined, ["+here", "+page"], ["here"]],
    [false, ["+here"], []],
    [{ mirror: false }, ["+here"], ["here"]],
    [{ import: false }, ["+here", "+page"], []],
  ]) {
    const context = new FakeModelContext();
    await context.registerTool(browserTool("here"));
    const { page, definitions } = createPage({ options, context });
    page.addTool({ name: "page", handler() {} });
    const hidden = page.addTool({ name: "hidden", webmcp: false, handler() {} });
    assert.ok(!definitions.all[1].json.includes("webmcp"), "it is not sent to the bridge");
    if (offered.length) await listed(context);
    await settled();
    assert.deepEqual([context.log, importedNames(definitions)], [registered, offered]);
    hidden.update({ webmcp: true });
    await settled();
    assert.deepEqual(context.log.slice(registered.length), registered.length > 1 ? ["+hidden"] : []);
  }
});

test("only changes that the browser shows cause a new registration, in one task", async () => {
  const { context, page } = createPage();
  const tool = page.addTool({ name: "t", description: "old", handler: () => "old" });
  page.addTool({ name: "u", handler() {} });
  await settled();
  context.log.length = 0;
  tool.update({ handler: () => "new", outputSchema: { type: "string" }, _meta: { more: 1 }, annotations: { idempotentHint: true } });
  await settled();
  assert.deepEqual(context.log, []);
  assert.equal(await call(context, "t"), "new");
  tool.update({ description: "new" });
  queueMicrotask(() => queueMicrotask(() => assert.deepEqual(context.log, ["-t", "+t"])));
  await settled();
  assert.deepEqual(context.log, ["-t", "+t"]);
  page.addTool({ name: "t", description: "new", handler: () => "another" });
  await settled();
  assert.equal(context.log.length, 2, "a tool that replaces it looks the same");
  assert.equal(await call(context, "t"), "another");
});

test("a tool that is removed is gone, and its calls continue", async () => {
  const { context, page } = createPage();
  const answer = Promise.withResolvers();
  const tool = page.addTool({ name: "t", handler: () => answer.promise });
  await settled();
  const pending = call(context, "t");
  await settled();
  tool.remove();
  await settled();
  assert.deepEqual(await context.getTools(), []);
  answer.resolve("done");
  assert.equal(await pending, "done");
});

test("arguments are validated before the handler runs, because the browser does not", async () => {
  const { context, page, calls } = createPage();
  let runs = 0;
  page.addTool({ name: "json", inputSchema: schema, handler: () => (runs += 1) });
  page.addTool({ name: "zod", inputSchema: z.object({ n: z.number().default(3), m: z.string().optional() }), handler: ({ n }) => n });
  const events = [];
  calls.subscribe(({ phase, name }) => events.push(`${name} ${phase}`));
  await settled();
  const refused = JSON.parse(await call(context, "json", { n: "moon", x: 1 }));
  assert.deepEqual([refused.isError, refused.code, runs], [true, "InvalidArguments", 0]);
  assert.match(refused.error, /arguments of "json" are invalid: .*\/n: /);
  assert.equal(await call(context, "json", { n: 1 }), "1");
  assert.equal(await call(context, "zod"), "3", "the library's default");
  const { code, error } = JSON.parse(await call(context, "zod", { m: 1 }));
  assert.equal(code, "InvalidArguments");
  assert.match(error, /\/m: /);
  assert.deepEqual(events.slice(0, 2), ["json started", "json finished"]);
});

test("a call of a tool with an unusable schema is rejected", async () => {
  const { context, page } = createPage();
  page.addTool({ name: "t", inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/none" } } }, handler: assert.fail });
  await settled();
  assert.equal(JSON.parse(await call(context, "t", { a: 1 })).code, "InvalidArguments");
});

test("a result that does not match its schema is a failure", async () => {
  const { context, page } = createPage();
  page.addTool({ name: "t", outputSchema: schema, handler: () => ({ n: "moon" }) });
  page.addTool({ name: "u", outputSchema: schema, handler: () => ({ content: [], structuredContent: { n: 2 } }) });
  await settled();
  assert.equal(JSON.parse(await call(context, "t")).code, "InvalidResult");
  assert.equal(await call(context, "u"), '{"n":2}');
});

test("no result is passed to the browser unconverted, and none is lost", async () => {
  const { context, page } = createPage();
  let result;
  page.addTool({ name: "t", handler: () => result });
  await settled();
  const cycle = {};
  cycle.cycle = cycle;
  const text = (text) => ({ type: "text", text });
  const picture = { type: "image", data: "AAAA", mimeType: "image/png" };
  for (const [value, expected] of [
    ["text", "text"],
    ["", "(empty)"],
    [undefined, "null"],
    [null, "null"],
    [5, "5"],
    [false, "false"],
    [NaN, "null"],
    [Symbol("crash"), "null"],
    [() => 1, "null"],
    [{ a: [1] }, '{"a":[1]}'],
    [new Map([[1, 2]]), "{}"],
    [{ content: [text("a"), text("b")] }, "a\nb"],
    [{ content: [text("3 cards")], structuredContent: { n: 3 } }, "3 cards"],
    [{ content: [], structuredContent: { n: 3 } }, '{"n":3}'],
    [{ content: [] }, "(empty)"],
    [{ content: [picture, text("a")] }, "(image of type image/png: the browser passes only text on)\na"],
    [{ content: [{ type: "resource_link", uri: "a://b", name: "b" }, { type: "resource", resource: { uri: "a://c", text: "c" } }] }, "b: a://b\nc"],
  ]) {
    result = value;
    assert.equal(await call(context, "t"), expected, String(value?.toString?.()));
  }
  for (const value of [cycle, 1n]) {
    result = value;
    const { isError, error, code } = JSON.parse(await call(context, "t"));
    assert.deepEqual([isError, code], [true, "HandlerFailed"]);
    assert.match(error, /not JSON/);
  }
  assert.equal(context.hasCrashed, false);
});

test("a failure keeps its message, its code and its data", async () => {
  const { context, page, calls } = createPage();
  let thrown;
  page.addTool({
    name: "t",
    handler() {
      throw thrown;
    },
  });
  page.addTool({ name: "u", handler: () => ({ content: [{ type: "text", text: "no such card" }], isError: true }) });
  const ends = [];
  calls.subscribe(({ phase, error }) => error && ends.push([phase, error.code, error.message]));
  await settled();
  for (const [error, expected] of [
    [new Error("why"), { error: "why", code: "HandlerFailed" }],
    [Object.assign(new Error("why"), { code: "ENOENT", data: { n: 1 } }), { error: "why", code: "HandlerFailed", data: { n: 1 } }],
    [Object.assign(new Error("why"), { code: "ResourceNotFound" }), { error: "why", code: "ResourceNotFound" }],
    ["text", { error: "text", code: "HandlerFailed" }],
    [undefined, { error: "it threw something without a message", code: "HandlerFailed" }],
    [Symbol("crash"), { error: "it threw something without a message", code: "HandlerFailed" }],
  ]) {
    thrown = error;
    assert.deepEqual(JSON.parse(await call(context, "t")), { isError: true, ...expected });
  }
  assert.equal(JSON.parse(await call(context, "u")).error, "no such card");
  assert.deepEqual(ends[0], ["failed", "HandlerFailed", "why"]);
});

test("a call is reported to the app, and the handler gets the caller", async () => {
  const { context, page, calls } = createPage();
  const events = [];
  calls.subscribe((event) => events.push(event));
  page.addTool({
    name: "t",
    handler(_input, ctx) {
      ctx.progress(1, 2, "half");
      ctx.log("error", "logged");
      return { via: ctx.caller.via, client: ctx.client ?? null, callId: ctx.callId };
    },
  });
  await settled();
  const result = JSON.parse(await call(context, "t", { a: 1 }));
  assert.deepEqual([result.via, result.client], ["webmcp", null]);
  const [started, finished] = events;
  assert.deepEqual([started.phase, started.kind, started.name, started.input, started.caller], ["started", "tool", "t", { a: 1 }, { via: "webmcp", roles: [] }]);
  assert.deepEqual([finished.phase, finished.result, finished.callId], ["finished", result, result.callId]);
  assert.equal(calls.isIdle, true);
});

test("the signal of the handler fires when the caller aborts", async () => {
  const { context, page, calls } = createPage();
  const fired = Promise.withResolvers();
  const ended = Promise.withResolvers();
  calls.subscribe((event) => event.phase === "cancelled" && ended.resolve(event));
  page.addTool({ name: "t", handler: (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => fired.resolve(signal.reason))) });
  await settled();
  const controller = new AbortController();
  const pending = call(context, "t", {}, { signal: controller.signal });
  await settled();
  controller.abort("enough");
  await assert.rejects(pending, (reason) => reason === "enough");
  assert.equal((await fired.promise).code, "CallCancelled");
  assert.equal((await ended.promise).error.code, "CallCancelled");
  assert.equal(calls.isIdle, true);
});

test("a call that never ends has a timeout, because the browser has none", async () => {
  const { context, page } = createPage();
  const fired = Promise.withResolvers();
  page.addTool({ name: "t", timeout: 1, handler: (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => fired.resolve())) });
  await settled();
  const { code, error } = JSON.parse(await call(context, "t"));
  assert.equal(code, "CallTimeout");
  assert.match(error, /"t" did not answer within 1 ms/);
  await fired.promise;
});

test("without a client, only the page can ask its user", async () => {
  const ask = (_, ctx) => ctx.elicit({ message: "Sure?", schema: { type: "object", properties: {} } });
  const { context, page } = createPage();
  page.addTool({ name: "elicit", handler: ask });
  page.addTool({ name: "sample", handler: (_, ctx) => ctx.sample({ prompt: "Hi" }) });
  page.addTool({ name: "roots", handler: (_, ctx) => ctx.listRoots() });
  await settled();
  for (const [name, capability] of [["elicit", "elicitation"], ["sample", "sampling"], ["roots", "roots"]]) {
    const { code, data } = JSON.parse(await call(context, name));
    assert.deepEqual([code, data], ["ClientCapabilityMissing", { requiredCapabilities: { [capability]: {} } }]);
  }
  const other = createPage({ elicitInPage: "fallback" });
  other.page.addTool({ name: "elicit", handler: ask });
  await settled();
  assert.equal(JSON.parse(await call(other.context, "elicit")).action, "accept");
});

test("a tool that the browser rejects is not an error, and is retried when the name is free", async () => {
  const context = new FakeModelContext();
  const taken = new AbortController();
  await context.registerTool(browserTool("t"), { signal: taken.signal });
  const { page, definitions } = createPage({ context });
  page.addTool({ name: "t", handler: () => "ours" });
  await listed(context);
  assert.equal(await call(context, "t"), "t");
  assert.deepEqual(importedNames(definitions), [], "clients have ours already");
  taken.abort();
  await listed(context);
  assert.equal(await call(context, "t"), "ours");
});

test("a page without permission for the API gets no error", async () => {
  const context = new FakeModelContext();
  context.isForbidden = true;
  const { page, definitions } = createPage({ context });
  page.addTool({ name: "t", handler() {} });
  await listed(context);
  assert.equal(definitions.all.length, 1);
});

test("an object that replaces the API gets the tools, and the former one loses them", async () => {
  const { context, page, webMcp, definitions } = createPage();
  page.addTool({ name: "t", handler: () => "t" });
  await settled();
  const another = new FakeModelContext({ wantsText: true });
  await another.registerTool(browserTool("late", { execute: ({ n }) => n }));
  document.modelContext = another;
  webMcp.update();
  assert.deepEqual([context.log, another.log], [["+t", "-t"], ["+late", "+t"]], "in one task");
  await listed(another);
  const [late] = imported(definitions);
  assert.equal(late.id, "late");
  const { signal } = new AbortController();
  assert.equal(await late.definition.handler({ n: 5 }, { signal }), "5", "a polyfill wants JSON text");
  await context.registerTool(browserTool("former"));
  await settled();
  assert.deepEqual(importedNames(definitions), ["late"]);
});

test("a polyfill of an earlier draft returns nothing, throws, and has schemas as text", async () => {
  const tools = [];
  const context = {
    registerTool(tool) {
      if (tools.some(({ name }) => name === tool.name)) throw new Error(`Tool already registered: ${tool.name}`);
      tools.push(tool);
    },
    getTools: async () => [
      { name: "old", title: "Old", description: "Old", inputSchema: '{"type":"object"}', origin: "" },
      { name: "odd", description: "Odd", inputSchema: "{", origin: "" },
      ...tools.map(({ name, description }) => ({ name, description, title: description, inputSchema: "{}", origin: "" })),
    ],
    executeTool: async ({ name }) => JSON.stringify({ content: [{ type: "text", text: name }], structuredContent: name, isError: false }),
  };
  const { page, definitions } = createPage({ context });
  page.addTool({ name: "t", handler: () => "ours" });
  await listed(context);
  assert.deepEqual(tools.map(({ name }) => name), ["t"]);
  assert.equal(await tools[0].execute({}), "ours");
  assert.equal(await tools[0].execute({}, { requestUserInteraction() {} }), "ours");
  const [old, odd] = imported(definitions);
  assert.deepEqual(JSON.parse(old.json), {
    name: "old",
    description: "Old",
    inputSchema: { type: "object" },
    _meta: { "mcp-web/webmcp": { imported: true } },
  });
  assert.equal(JSON.parse(odd.json).inputSchema, undefined);
  const { signal } = new AbortController();
  assert.deepEqual(await old.definition.handler({}, { signal }), { content: [{ type: "text", text: "old" }], isError: false });
});

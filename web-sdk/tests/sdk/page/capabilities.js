/** Everything a page can offer, from the app's call to the bridge's frame and back. */

import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";
import { McpWebError, content } from "./mcp-web.js";

const CLIENT = { info: { name: "client", version: "1" }, protocolVersion: "2025-11-25", capabilities: { elicitation: {}, sampling: {}, roots: {} } };
const CONTEXT = { client: CLIENT, caller: { via: "mcp", sub: "alice", roles: ["editor"] }, progress: true, logLevel: "info" };

/** A connected page with one tool `t`. */
async function withTool(handler, options) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page(options);
  mcpWeb.addTool({ name: "t", handler });
  await bridge.register();
  return { bridge, mcpWeb };
}

async function resultOf(value) {
  const { bridge } = await withTool(() => value);
  const { type, requestId, ...answer } = await bridge.tool("t");
  return { type, ...answer };
}

const text = (text) => ({ type: "text", text });
const response = (answer) => ({ type: "call-response", ...answer });

export default {
  async "everything is registered verbatim in one message"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const tool = { name: "t", title: "T", annotations: { readOnlyHint: true }, inputSchema: { type: "object" }, later: [1], _meta: { z: 1, a: 2 } };
    const prompt = { name: "p", description: "P", arguments: [{ name: "x", required: true, complete: () => [] }] };
    const resource = { uri: "a://r", name: "r", mimeType: "text/plain", size: 3 };
    const template = { uriTemplate: "a://{x}", name: "x" };
    const handles = [
      mcpWeb.addTool({ ...tool, handler() {} }),
      mcpWeb.addPrompt({ ...prompt, get() {} }),
      mcpWeb.addResource({ ...resource, read() {}, onSubscribe() {} }),
      mcpWeb.addResourceTemplate({ ...template, read() {}, complete: { x: () => [] } }),
    ];
    equal(await bridge.register(), [
      { kind: "tool", definition: tool },
      { kind: "prompt", definition: { ...prompt, arguments: [{ name: "x", required: true }] } },
      { kind: "resource", definition: resource },
      { kind: "resource-template", definition: template },
    ]);
    await Promise.all(handles.map((handle) => handle.registered));
    equal(handles.map(({ name, uri, uriTemplate, publishedName }) => [name ?? uri ?? uriTemplate, publishedName]), [
      ["t", "t"], ["p", "p"], ["a://r", "a://r"], ["a://{x}", "a://{x}"],
    ]);
  },

  async "an update of functions only is not sent"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const tool = mcpWeb.addTool({ name: "t", description: "same", handler: () => "old" });
    await bridge.register();
    await tool.update({ description: "same", handler: () => "new" });
    assert(!bridge.has("register"), "it was registered again");
    equal((await bridge.tool("t")).result, "new");
  },

  async "a rejection is logged even after an update of functions only"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const { error } = console;
    const written = [];
    console.error = (text) => written.push(text);
    try {
      const tool = mcpWeb.addTool({ name: "t", handler: () => "old" });
      const updated = tool.update({ handler: () => "new" });
      const { registrationId } = await bridge.next("register");
      const errors = [{ index: 0, code: "DefinitionInvalid", message: "no" }];
      bridge.say({ type: "registered", registrationId, items: [], errors });
      await rejects(updated, { code: "DefinitionInvalid" });
    } finally {
      console.error = error;
    }
    equal(written, ['mcp-web: tool "t" is not registered: no']);
  },

  async "an update keeps the place, and a removal is acknowledged"() {
    const { bridge, mcpWeb } = await withTool(() => 1);
    const tool = mcpWeb.addTool({ name: "u", description: "old", title: "U", handler: () => "old" });
    await bridge.register();
    const updated = tool.update({ description: "new", title: undefined, handler: () => "new" });
    equal(await bridge.register(), [{ kind: "tool", definition: { name: "u", description: "new" } }]);
    await updated;
    await tool.registered;
    equal((await bridge.tool("u")).result, "new");
    let error;
    try {
      tool.update({ name: "v" });
    } catch (thrown) {
      error = thrown;
    }
    assert(/remove it/.test(error.message));
    const removed = tool.remove();
    const { registrationId, items } = await bridge.next("unregister");
    equal(items, [{ kind: "tool", name: "u" }]);
    bridge.say({ type: "unregistered", registrationId, items });
    await removed;
    await rejects(tool.update({}), { code: "Removed" });
  },

  async "plain values stay plain"() {
    for (const value of [null, 0, "", "text", [1, "a"], { a: 1 }, { content: [text("x")], author: "me" }, { content: "x" }]) {
      equal(await resultOf(value), response({ result: value }), JSON.stringify(value));
    }
    equal(await resultOf(undefined), response({}));
    const message = { type: "text", text: "my own object" };
    equal(await resultOf([message]), response({ result: [message] }));
    const cycle = {};
    cycle.cycle = cycle;
    const { type, message: why } = await resultOf(cycle);
    assert(type === "call-error" && /not JSON/.test(why));
  },

  async "content and structured content are sent together"() {
    const link = { uri: "a://r", name: "r" };
    const blocks = [text("hi"), content.text("there", { priority: 1 }), content.link(link), content.resource({ uri: "a://t", text: "x" })];
    equal(await resultOf({ content: blocks, structuredContent: { n: 1 }, _meta: { k: null } }), response({
      content: [
        text("hi"),
        { ...text("there"), annotations: { priority: 1 } },
        { type: "resource_link", ...link },
        { type: "resource", resource: { uri: "a://t", text: "x" } },
      ],
      structuredContent: { n: 1 },
      _meta: { k: null },
    }));
    equal(await resultOf(content.text("alone")), response({ content: [text("alone")] }));
    equal(await resultOf([content.text("a"), "b", { c: 1 }]), response({ content: [text("a"), text("b"), text('{"c":1}')] }));
    equal(await resultOf({ content: [] }), response({ content: [] }));
  },

  async "a tool can fail with content"() {
    const blocks = [text("no such card"), content.image("AAAA", "image/png")];
    equal(await resultOf({ content: blocks, isError: true }), {
      type: "call-error",
      code: "HandlerFailed",
      message: "no such card",
      content: [text("no such card"), { type: "image", data: "AAAA", mimeType: "image/png" }],
    });
  },

  async "a thrown error keeps its code if handlers may use it"() {
    const thrown = async (code) => {
      const { bridge } = await withTool(() => {
        throw Object.assign(new McpWebError(code, "why"), { data: { n: 1 } });
      });
      const { type, requestId, ...error } = await bridge.tool("t");
      return error;
    };
    equal(await thrown("ResourceNotFound"), { code: "ResourceNotFound", message: "why", data: { n: 1 } });
    equal(await thrown("ENOENT"), { code: "HandlerFailed", message: "why", data: { n: 1 } });
  },

  async "a handler gets the trace of its call as headers"() {
    const { bridge } = await withTool((_input, ctx) => ctx.trace);
    const trace = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: "vendor=1" };
    equal((await bridge.tool("t", {}, { trace })).result, trace);
    equal((await bridge.tool("t")).result, {});
  },

  async "a handler gets its client and caller"() {
    const { bridge } = await withTool((input, { callId, signal, client, caller }) => ({ input, callId, aborted: signal.aborted, client, caller }));
    equal((await bridge.tool("t", { a: 1 }, CONTEXT)).result, {
      input: { a: 1 },
      callId: "c1",
      aborted: false,
      client: { name: "client", version: "1", protocolVersion: "2025-11-25", capabilities: CLIENT.capabilities },
      caller: { via: "mcp", roles: ["editor"], sub: "alice" },
    });
    equal((await bridge.tool("t")).result, { input: {}, callId: "c2", aborted: false, caller: { via: "mcp", roles: [] } });
  },

  async "progress and logs are sent if the client requests them"() {
    const { bridge } = await withTool((_, ctx) => {
      ctx.progress(0.5, 2, "half");
      ctx.progress(0.5);
      ctx.progress(1);
      ctx.log("debug", "not wanted");
      ctx.log("warning", { card: 7 }, "board");
      ctx.log("info", undefined);
    });
    equal((await bridge.tool("t", {}, CONTEXT)).type, "call-response");
    const rest = (frame) => ({ ...frame, type: undefined, requestId: undefined });
    equal(rest(await bridge.next("call-progress")), { progress: 0.5, total: 2, message: "half" });
    equal(rest(await bridge.next("call-progress")), { progress: 1 });
    equal(rest(await bridge.next("call-log")), { level: "warning", logger: "board", data: { card: 7 } });
    equal(rest(await bridge.next("call-log")), { level: "info", data: null });
    await bridge.tool("t");
    assert(!bridge.has("call-progress") && !bridge.has("call-log"));
  },

  async "simultaneous requests of a handler are one message, and answers reach their requests"() {
    const schema = { type: "object", properties: { column: { type: "string" } } };
    const { bridge } = await withTool((_, ctx) =>
      Promise.all([
        ctx.elicit({ message: "Which?", schema }),
        ctx.sample({ prompt: "Say hi", temperature: 0 }),
        ctx.listRoots(),
        ctx.elicit({ key: "mine", message: "Again?", schema }),
      ]),
    );
    const requestId = bridge.start({ type: "tool-call", toolName: "t", toolInput: {}, context: CONTEXT });
    const { requests } = await bridge.next("client-requests");
    const sampled = { messages: [{ role: "user", content: text("Say hi") }], maxTokens: 1000, temperature: 0 };
    equal(requests, [
      { key: "elicit-1", method: "elicitation/create", params: { message: "Which?", requestedSchema: schema } },
      { key: "sample-1", method: "sampling/createMessage", params: sampled },
      { key: "roots-1", method: "roots/list", params: {} },
      { key: "mine", method: "elicitation/create", params: { message: "Again?", requestedSchema: schema } },
    ]);
    const answer = (key, result) => ({ key, result });
    bridge.say({ type: "client-responses", requestId, responses: [answer("mine", { action: "cancel" })] });
    bridge.say({
      type: "client-responses",
      requestId,
      responses: [
        answer("roots-1", { roots: [{ uri: "file:///a" }] }),
        answer("elicit-1", { action: "accept", content: { column: "todo" } }),
        answer("sample-1", { role: "assistant", content: text("hi"), model: "m" }),
      ],
    });
    equal((await bridge.next("call-response")).result, [
      { action: "accept", content: { column: "todo" } },
      { role: "assistant", content: text("hi"), model: "m" },
      [{ uri: "file:///a" }],
      { action: "cancel" },
    ]);
  },

  async "messages to a model keep uses of tools together"() {
    const use = (id) => ({ type: "tool_use", id, name: "t", input: {} });
    const result = { type: "tool_result", toolUseId: "1", content: [text("x")] };
    const messages = [
      { role: "user", content: ["a", content.image(new Uint8Array([1]), "image/png")] },
      { role: "assistant", content: [use("1"), use("2")] },
      { role: "user", content: result },
    ];
    const { bridge } = await withTool((_, ctx) => ctx.sample({ messages, maxTokens: 5, tools: [{ name: "t" }] }));
    bridge.start({ type: "tool-call", toolName: "t", toolInput: {}, context: CONTEXT });
    const { requests } = await bridge.next("client-requests");
    equal(requests[0].params, {
      messages: [
        { role: "user", content: text("a") },
        { role: "user", content: { type: "image", data: "AQ==", mimeType: "image/png" } },
        { role: "assistant", content: [use("1"), use("2")] },
        { role: "user", content: result },
      ],
      maxTokens: 5,
      tools: [{ name: "t" }],
    });
  },

  async "elicitation by address has a mode and an id"() {
    const { bridge } = await withTool((_, ctx) => ctx.elicit({ message: "Sign in", url: "https://a.example/x" }));
    bridge.start({ type: "tool-call", toolName: "t", toolInput: {}, context: CONTEXT });
    const { requests } = await bridge.next("client-requests");
    const { elicitationId, ...params } = requests[0].params;
    equal(params, { mode: "url", message: "Sign in", url: "https://a.example/x" });
    assert(/^[0-9a-f]{32}$/.test(elicitationId));
  },

  async "an unsupported request can be caught, or passed on"() {
    const missing = { code: "ClientCapabilityMissing", message: "the client has no sampling", data: { requiredCapabilities: { sampling: {} } } };
    for (const caught of [true, false]) {
      const { bridge } = await withTool(async (_, ctx) => {
        const sampled = ctx.sample({ prompt: "hi" });
        return caught ? sampled.catch(({ code, data }) => ({ code, data })) : sampled;
      });
      const requestId = bridge.start({ type: "tool-call", toolName: "t", toolInput: {} });
      await bridge.next("client-requests");
      bridge.say({ type: "client-responses", requestId, responses: [{ key: "sample-1", error: missing }] });
      const answer = await bridge.next("call-response", "call-error");
      const { code, message, data } = missing;
      equal(answer, caught ? { ...response({ requestId, result: { code, data } }) } : { type: "call-error", requestId, code, message, data });
    }
  },

  async "keys are unique and open requests are limited"() {
    const { bridge } = await withTool(async (_, ctx) => {
      const roots = (key) => ctx.listRoots({ key }).catch((error) => error.message);
      const first = Array.from({ length: 16 }, (_, n) => roots(`k${n}`));
      return [await roots("k3"), await roots("k16"), first.length];
    });
    const { result } = await bridge.tool("t");
    assert(/"k3" already/.test(result[0]), result[0]);
    assert(/^16 requests/.test(result[1]), result[1]);
  },

  async "a cancelled call notifies its handler and its pending requests"() {
    const codes = [];
    const { bridge, mcpWeb } = await withTool(async (_, ctx) => {
      ctx.signal.addEventListener("abort", () => codes.push(ctx.signal.reason.code));
      await ctx.elicit({ message: "?", schema: { type: "object" } }).catch((error) => codes.push(error.code));
      await ctx.listRoots().catch((error) => codes.push(error.code));
    });
    const phases = [];
    mcpWeb.onCall(({ phase }) => phases.push(phase));
    const requestId = bridge.start({ type: "tool-call", toolName: "t", toolInput: {} });
    await bridge.next("client-requests");
    bridge.say({ type: "call-cancel", requestId, code: "CallCancelled", reason: "the client cancelled" });
    await new Promise((resolve) => setTimeout(resolve));
    equal(codes.sort(), ["CallCancelled", "CallCancelled", "CallCancelled"]);
    equal(phases, ["started", "cancelled"]);
    assert(!bridge.has("call-response") && !bridge.has("call-error"));
  },

  async "requests on a lost connection are sent again"() {
    const { bridge } = await withTool((_, ctx) => ctx.listRoots());
    const requestId = bridge.start({ type: "tool-call", toolName: "t", toolInput: {} });
    const asked = await bridge.next("client-requests");
    bridge.breakConnection();
    await bridge.accept();
    equal(await bridge.next("client-requests"), asked);
    bridge.say({ type: "client-responses", requestId, responses: [{ key: "roots-1", result: { roots: [] } }] });
    equal((await bridge.next("call-response")).result, []);
  },

  async "resources are read"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const read = async (value, mimeType) => {
      const resource = mcpWeb.addResource({ uri: "a://r/", name: "r", mimeType, read: () => value });
      await bridge.register();
      const { type, requestId, ...answer } = await bridge.call({ type: "resource-read", uri: "a://r/" });
      await resource.registered;
      return answer.result?.contents ?? answer;
    };
    const uri = "a://r/";
    equal(await read("hi"), [{ uri, mimeType: "text/plain", text: "hi" }]);
    equal(await read("# hi", "text/markdown"), [{ uri, mimeType: "text/markdown", text: "# hi" }]);
    equal(await read({ a: 1 }), [{ uri, mimeType: "application/json", text: '{"a":1}' }]);
    equal(await read(["a"]), [{ uri, mimeType: "application/json", text: '["a"]' }]);
    equal(await read(new Uint8Array([0, 1, 255])), [{ uri, mimeType: "application/octet-stream", blob: "AAH/" }]);
    equal(await read(new Uint8Array([0]), "image/bmp"), [{ uri, mimeType: "image/bmp", blob: "AA==" }]);
    equal(await read(new Blob(["x"], { type: "font/woff" })), [{ uri, mimeType: "font/woff", blob: "eA==" }]);
    equal(await read({ text: "x", _meta: { k: 1 } }), [{ uri, mimeType: "text/plain", text: "x", _meta: { k: 1 } }]);
    equal(await read([{ uri: "a://1", text: "x" }, { blob: new Uint8Array([1]), mimeType: "a/b" }]), [
      { uri: "a://1", mimeType: "text/plain", text: "x" },
      { uri, mimeType: "a/b", blob: "AQ==" },
    ]);
    equal(await read({ contents: [{ uri: "a://1", text: "x" }] }), [{ uri: "a://1", mimeType: "text/plain", text: "x" }]);
    equal((await read(undefined)).code, "HandlerFailed");
  },

  async "templates get their variables, which can be completed"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    mcpWeb.addResourceTemplate({
      uriTemplate: "a://{id}/{part}",
      name: "x",
      read: (uri, { id }) => ({ uri: uri.href, id }),
      complete: { id: async (value, ctx) => [value + ctx.arguments.part, ctx.caller.via] },
    });
    await bridge.register();
    const uriTemplate = "a://{id}/{part}";
    const { result } = await bridge.call({ type: "resource-read", uri: "a://7/x", uriTemplate, variables: { id: "7", part: "x" } });
    equal(JSON.parse(result.contents[0].text), { uri: "a://7/x", id: "7" });
    const complete = async (name) =>
      (await bridge.call({ type: "completion", ref: { kind: "resource-template", name: uriTemplate }, argument: { name, value: "1" }, arguments: { part: "p" } })).result;
    equal(await complete("id"), { values: ["1p", "mcp"] });
    equal(await complete("part"), { values: [] });
  },

  async "prompts are filled in, and their arguments are completed"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const many = Array.from({ length: 120 }, (_, n) => `${n}`);
    const get = async (value) => {
      mcpWeb.addPrompt({ name: "p", arguments: [{ name: "x", complete: () => many }], get: () => value });
      await bridge.register();
      const { result, message } = await bridge.call({ type: "prompt-get", name: "p", arguments: { x: "1" } });
      return result ?? message;
    };
    const user = (content) => ({ role: "user", content });
    equal(await get("hi"), { messages: [user(text("hi"))] });
    equal(await get(["a", { role: "assistant", content: "b" }]), { messages: [user(text("a")), { role: "assistant", content: text("b") }] });
    equal(await get({ description: "d", messages: [{ role: "user", content: ["a", content.image(new Uint8Array([1]), "image/png")] }] }), {
      description: "d",
      messages: [user(text("a")), user({ type: "image", data: "AQ==", mimeType: "image/png" })],
    });
    assert(/a message is/.test(await get(7)));
    const { result } = await bridge.call({ type: "completion", ref: { kind: "prompt", name: "p" }, argument: { name: "x", value: "" } });
    equal(result, { values: many.slice(0, 100), total: 120, hasMore: true });
  },

  async "subscriptions are reported, and changes are sent"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const changes = [];
    const listen = { onSubscribe: () => changes.push("on"), onUnsubscribe: () => changes.push("off") };
    const resource = mcpWeb.addResource({ uri: "a://r", name: "r", read: () => "", ...listen });
    await bridge.register();
    bridge.say({ type: "subscriptions", uris: ["a://r", "a://7"] });
    assert(resource.subscribed);
    bridge.say({ type: "subscriptions", uris: ["a://r"] });
    equal(changes, ["on"]);
    resource.notifyUpdated();
    mcpWeb.notifyResourceUpdated("a://7");
    mcpWeb.notifyResourceUpdated("a://7");
    equal((await bridge.next("resource-updated")).uri, "a://r");
    equal((await bridge.next("resource-updated")).uri, "a://7");
    bridge.say({ type: "subscriptions", uris: [] });
    assert(!resource.subscribed && !bridge.has("resource-updated"));
    equal(changes, ["on", "off"]);
  },

  async "an app is a tool with a page"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const csp = { connectDomains: ["https://a.example"] };
    const app = mcpWeb.addApp({ name: "chart", description: "Draws", html: async () => "<p>1</p>", csp, handler: () => "ok", _meta: { ui: { visibility: ["model"] } } });
    const resourceUri = "ui://test-app/chart";
    const items = await bridge.register();
    await app.registered;
    equal(items.map(({ kind }) => kind), ["resource", "tool"]);
    equal(items[0].definition, { uri: resourceUri, name: "chart", description: "Draws", mimeType: "text/html;profile=mcp-app" });
    equal(items[1].definition, { name: "chart", description: "Draws", _meta: { ui: { visibility: ["model"], resourceUri } } });
    const { result } = await bridge.call({ type: "resource-read", uri: resourceUri });
    equal(result.contents, [{ uri: resourceUri, mimeType: "text/html;profile=mcp-app", text: "<p>1</p>", _meta: { ui: { csp } } }]);
    equal((await bridge.tool("chart")).result, "ok");
    const updated = app.update({ html: "<p>2</p>", description: "Paints" });
    await bridge.register();
    await updated;
    const second = await bridge.call({ type: "resource-read", uri: resourceUri });
    equal(second.result.contents[0].text, "<p>2</p>");
    let refused;
    try {
      app.update({ url: "https://elsewhere.example" });
    } catch (error) {
      refused = error;
    }
    assert(/either html or url/.test(refused.message));
    app.update({ title: "Chart" });
    equal((await bridge.register()).map(({ definition }) => definition.title), ["Chart", "Chart"]);
    mcpWeb.addApp({ name: "file", url: "/page.html", handler() {} });
    await bridge.register();
    const third = await bridge.call({ type: "resource-read", uri: "ui://test-app/file" });
    assert(third.result.contents[0].text.startsWith("<!doctype html>"));
  },

  async "an app is refused if no host would understand it"() {
    const mcpWeb = await new Bridge().page();
    for (const fields of [
      { domain: "not a domain!" },
      { domain: "" },
      { domain: 7 },
      { csp: "https://a.example" },
      { csp: { connectDomain: [] } },
      { csp: { connectDomains: "https://a.example" } },
      { csp: { connectDomains: ["*"] } },
      { csp: { resourceDomains: ["a.example"] } },
      { csp: { frameDomains: ["https://a.example; script-src *"] } },
      { csp: { frameDomains: ["https://a.example/b;"] } },
      { csp: { frameDomains: ["https://a.example/b,c"] } },
      { csp: { baseUriDomains: [7] } },
      { permissions: { camera: true } },
      { permissions: { usb: {} } },
      { prefersBorder: "yes" },
    ]) {
      let refused;
      try {
        mcpWeb.addApp({ name: "a", html: "", handler() {}, domain: "a.example", prefersBorder: true, ...fields });
      } catch (error) {
        refused = error;
      }
      assert(refused instanceof TypeError && refused.message.includes(`no host reads ${JSON.stringify(fields)} of app "a"`), refused?.message);
    }
    const csp = { connectDomains: ["wss://a.example:8080", "https://*.b.example", "http://localhost:3000", "http://[::1]:80", "https://a.example/", "https://a.example/lib/v1.2/", "https://cdn.jsdelivr.net/npm/@a/chart.js@4.4.1/+esm"], frameDomains: undefined };
    const permissions = { camera: {}, clipboardWrite: {}, geolocation: undefined };
    mcpWeb.addApp({ name: "bare", html: "", handler() {}, csp: {}, permissions: {} });
    for (const domain of ["a904794854a047f6.claudemcpcontent.com", "www-example-com.oaiusercontent.com", "https://app.example.com", undefined]) {
      mcpWeb.addApp({ name: "a", html: "", handler() {}, csp, permissions, domain, prefersBorder: false }).remove();
    }
  },

  async "every call is reported to the app with its kind"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    mcpWeb.addPrompt({ name: "p", get: () => "x" });
    mcpWeb.addResource({ uri: "a://r", name: "r", read: () => "x" });
    await bridge.register();
    const events = [];
    mcpWeb.onCall((event) => events.push(event));
    await bridge.call({ type: "prompt-get", name: "p", arguments: { a: "1" } });
    await bridge.call({ type: "resource-read", uri: "a://r" });
    await bridge.call({ type: "completion", ref: { kind: "prompt", name: "p" }, argument: { name: "a", value: "" } });
    equal(events.filter(({ phase }) => phase === "started").map(({ kind, name, input }) => [kind, name, input]), [
      ["prompt", "p", { a: "1" }],
      ["resource", "a://r", { uri: "a://r" }],
      ["completion", "p", { argument: { name: "a", value: "" }, arguments: {} }],
    ]);
    equal(events.filter(({ phase }) => phase === "finished").length, 3);
  },
};

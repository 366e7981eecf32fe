/** Tools shared with the browser (WebMCP): the real API, in a Chromium that has it. */

import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";
import { enablePageTools } from "./mcp-web-page.js";
import { connectWebMcp } from "./mcp-web-webmcp.js";
import { isReady, surface, use } from "./person.js";

const { modelContext } = document;

/** Waits until the condition is true. */
async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => requestAnimationFrame(resolve));
}

const names = async () => (await modelContext.getTools()).map(({ name }) => name);
const listed = (...expected) => until(async () => JSON.stringify(await names()) === JSON.stringify(expected.sort()));
const call = async (name, input, options) =>
  modelContext.executeTool((await modelContext.getTools()).find((tool) => tool.name === name), input, options);

/** Runs a test with a connected page, and removes everything from the browser afterwards. */
const withPage = (options, run) => async () => {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page(options);
  const over = new AbortController();
  const section = document.body.appendChild(document.createElement("section"));
  try {
    await run({ bridge, mcpWeb, signal: over.signal, section, tool: (name, more) => register(name, over.signal, more) });
  } finally {
    over.abort();
    section.remove();
    // A newer copy of the SDK would do the same: this page no longer shares tools.
    globalThis[Symbol.for("mcp-web.pages")].forEach((entry) => entry.handOver());
    await listed();
  }
};

const register = (name, signal, more) => modelContext.registerTool({ name, description: `Does ${name}`, execute: () => name, ...more }, { signal });

const RESERVE = `<form toolname="reserve" tooldescription="Reserves a seat">
  <label>Seat <input name="seat" required></label><label>At <input name="time" type="time"></label><button>Reserve</button></form>`;

export default {
  "tools of the page are listed and callable before they are registered at the bridge": withPage({}, async ({ bridge, mcpWeb }) => {
    const tool = mcpWeb.addTool({
      name: "add",
      description: "Adds",
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      annotations: { readOnlyHint: true },
      handler: ({ n }) => ({ n: n + 1 }),
    });
    await listed("add");
    const [{ annotations, inputSchema, description }] = await modelContext.getTools();
    equal([annotations.readOnlyHint, annotations.consequentialHint, inputSchema.required, description], [true, false, ["n"], "Adds"]);
    equal(await call("add", { n: 1 }), '{"n":2}');
    equal(JSON.parse(await call("add", { n: "moon" })).code, "InvalidArguments");
    await bridge.register();
    const events = [];
    modelContext.addEventListener("toolchange", () => events.push("toolchange"));
    tool.update({ handler: ({ n }) => ({ n: n + 2 }) });
    equal([await call("add", { n: 1 }), events], ['{"n":3}', []]);
    tool.remove();
    await listed();
  }),

  "no result crashes the renderer, and no failure is lost": withPage({}, async ({ mcpWeb }) => {
    const results = [Symbol("crash"), 1n, undefined, "", document, new Error("an object")];
    mcpWeb.addTool({ name: "results", handler: () => results.shift() });
    mcpWeb.addTool({ name: "throws", handler: () => Promise.reject(new Error("no such card")) });
    await listed("results", "throws");
    equal(await call("results"), "null");
    equal(JSON.parse(await call("results")).isError, true);
    equal([await call("results"), await call("results")], ["null", "(empty)"]);
    equal(typeof (await call("results")), "string");
    equal(await call("results"), "{}");
    equal(JSON.parse(await call("throws")), { isError: true, error: "no such card", code: "HandlerFailed" });
  }),

  "the caller's signal reaches the handler": withPage({}, async ({ mcpWeb }) => {
    const started = Promise.withResolvers();
    const aborted = Promise.withResolvers();
    mcpWeb.addTool({
      name: "waits",
      handler: (_, { signal }) => new Promise(() => (started.resolve(), signal.addEventListener("abort", () => aborted.resolve(signal.reason)))),
    });
    await listed("waits");
    const caller = new AbortController();
    const pending = call("waits", {}, { signal: caller.signal });
    await started.promise;
    caller.abort(new Error("enough"));
    await rejects(pending, { message: "enough" });
    equal((await aborted.promise).code, "CallCancelled");
  }),

  "a handler asks the user in the page, because the browser cannot ask": withPage({ elicitInPage: "fallback" }, async ({ mcpWeb }) => {
    mcpWeb.addTool({ name: "asks", handler: (_, ctx) => ctx.elicit({ message: "Sure?", schema: { type: "object", properties: {} } }) });
    await listed("asks");
    const pending = call("asks");
    await until(() => surface("elicitation"));
    await use(surface("elicitation").querySelector(".accept"));
    equal(JSON.parse(await pending), { action: "accept", content: {} });
  }),

  "an agent of the browser does not answer for the user": withPage({ elicitInPage: "fallback" }, async ({ mcpWeb }) => {
    mcpWeb.addTool({ name: "asks", handler: (_, ctx) => ctx.elicit({ message: "Sure?", schema: { type: "object", properties: {} } }) });
    enablePageTools(mcpWeb, { webmcp: true });
    await until(async () => (await names()).includes("interact"));
    const pending = call("asks");
    await until(() => surface("elicitation"));
    const actions = [{ type: "triggerEvent", event: "onClick", find: { role: "button", name: "Send" } }, { type: "pressKey", key: "Enter" }];
    let hasActed = false;
    const acting = call("interact", { actions, onError: "continue", view: "none" }).then((result) => ((hasActed = true), result));
    await isReady(surface());
    equal(hasActed, false);
    await use(surface("elicitation").querySelector(".buttons button"));
    equal(JSON.parse(await pending), { action: "decline" });
    assert((await acting).includes("TargetNotFound"), await acting);
  }),

  "tools of the browser are offered, called and removed": withPage({}, async ({ bridge, signal, tool }) => {
    const own = new AbortController();
    const annotations = { readOnlyHint: true, untrustedContentHint: true };
    const { inputSchema } = { inputSchema: { type: "object", properties: { n: { type: "integer" } } } };
    await modelContext.registerTool({ name: "native", title: "Native", description: "N", inputSchema, annotations, execute: ({ n }) => ({ n }) }, { signal: AbortSignal.any([own.signal, signal]) });
    await tool("a.b");
    await tool("fails", { execute: () => Promise.reject(new Error("lost")) });
    const items = await bridge.registered(3);
    equal(items.map(({ definition }) => definition), [
      { name: "a.b", description: "Does a.b", _meta: { "mcp-web/webmcp": { imported: true } } },
      { name: "fails", description: "Does fails", _meta: { "mcp-web/webmcp": { imported: true } } },
      {
        name: "native",
        title: "Native",
        description: "N",
        inputSchema,
        annotations: { readOnlyHint: true, openWorldHint: true },
        _meta: { "mcp-web/webmcp": { imported: true, annotations: { consequentialHint: false, debugging: false, ...annotations } } },
      },
    ]);
    equal((await bridge.tool("native", { n: 7 })).result, '{"n":7}');
    equal((await bridge.tool("fails")).code, "HandlerFailed");
    own.abort();
    equal((await bridge.next("unregister")).items, [{ kind: "tool", name: "native" }]);
  }),

  "the signal of a call reaches a tool of the browser": withPage({}, async ({ bridge, tool }) => {
    const started = Promise.withResolvers();
    const aborted = Promise.withResolvers();
    await tool("waits", { execute: (_, { signal }) => new Promise(() => (started.resolve(), signal.addEventListener("abort", aborted.resolve))) });
    await bridge.register();
    const requestId = bridge.start({ type: "tool-call", toolName: "waits", toolInput: {} });
    await started.promise;
    bridge.say({ type: "call-cancel", requestId, code: "CallCancelled", reason: "enough" });
    await aborted.promise;
  }),

  "a form waits for a person, who submits it": withPage({}, async ({ bridge, section }) => {
    section.innerHTML = RESERVE;
    const [{ definition }] = await bridge.register();
    equal(definition, {
      name: "reserve",
      description: "Reserves a seat",
      inputSchema: {
        type: "object",
        properties: { seat: { type: "string", description: "Seat" }, time: definition.inputSchema.properties.time },
        required: ["seat"],
      },
      _meta: { "mcp-web/webmcp": { imported: true, form: true }, "mcp-web/timeout": 600_000 },
    });
    const { pattern, format } = definition.inputSchema.properties.time;
    assert(new RegExp(pattern).test("09:30") && !new RegExp(pattern).test("moon") && format === undefined);
    const form = section.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.respondWith(Promise.resolve({ seat: form.elements.seat.value }));
    });
    const pending = bridge.tool("reserve", { seat: "A1" });
    await until(() => form.elements.seat.value === "A1");
    form.querySelector("button").click();
    equal((await pending).result, '{"seat":"A1"}');
  }),

  "of two calls of a form, the earlier one is answered": withPage({}, async ({ bridge, section }) => {
    section.innerHTML = RESERVE;
    await bridge.register();
    const form = section.querySelector("form");
    form.addEventListener("submit", (event) => (event.preventDefault(), event.respondWith(Promise.resolve("reserved"))));
    const first = bridge.tool("reserve", { seat: "A1" });
    await until(() => form.elements.seat.value === "A1");
    bridge.start({ type: "tool-call", toolName: "reserve", toolInput: { seat: "B2" } });
    const { code, message } = await first;
    equal(code, "HandlerFailed");
    assert(/filled in again for a later call/.test(message), message);
    await until(() => form.elements.seat.value === "B2");
    form.querySelector("button").click();
    equal((await bridge.next("call-response")).result, "reserved");
  }),

  "a form that is reset, removed or filled with invalid values reports it": withPage({}, async ({ bridge, section }) => {
    section.innerHTML = RESERVE;
    await bridge.register();
    const form = section.querySelector("form");
    const reset = bridge.tool("reserve", { seat: "A1" });
    await until(() => form.elements.seat.value === "A1");
    form.reset();
    assert(/form reset/.test((await reset).message));
    const removed = bridge.tool("reserve", { seat: "B2" });
    await until(() => form.elements.seat.value === "B2");
    form.remove();
    assert(/tool definition was updated/.test((await removed).message));
    equal((await bridge.next("unregister")).items, [{ kind: "tool", name: "reserve" }]);
  }),

  "forms in a shadow root have a longer timeout, and forms that submit themselves do not need it": withPage({}, async ({ bridge, section }) => {
    section.innerHTML = RESERVE.replace("<form", "<form toolautosubmit").replace('"reserve"', '"submits"');
    section.appendChild(document.createElement("div")).attachShadow({ mode: "open" }).innerHTML = RESERVE;
    const items = (await bridge.registered(2)).map(({ definition: { name, _meta } }) => [name, _meta["mcp-web/timeout"] ?? null]);
    equal(items, [["reserve", 600_000], ["submits", null]]);
    section.querySelector("form").addEventListener("submit", (event) => (event.preventDefault(), event.respondWith(Promise.resolve("done"))));
    assert(/validation failed/i.test((await bridge.tool("submits")).message));
    equal((await bridge.tool("submits", { seat: "A1" })).result, "done");
  }),

  "a form that changes is registered again, once": withPage({}, async ({ bridge, section }) => {
    section.innerHTML = RESERVE;
    await bridge.register();
    section.querySelector("form").setAttribute("tooldescription", "Reserves a place");
    equal((await bridge.register())[0].definition.description, "Reserves a place");
    assert(!bridge.has("register"));
  }),

  "frames are left out unless they are requested": async () => {
    for (const frames of [false, true]) {
      await withPage({ webmcp: { frames } }, async ({ bridge, section, tool }) => {
        const frame = section.appendChild(document.createElement("iframe"));
        await frame.contentDocument.modelContext.registerTool({ name: "framed", description: "In a frame", execute: () => "framed" });
        await tool("here");
        const items = (await bridge.registered(frames ? 2 : 1)).map(({ definition }) => definition.name);
        equal(items, frames ? ["framed", "here"] : ["here"]);
        if (frames) equal((await bridge.tool("framed")).result, "framed");
      })();
    }
  },

  "a newer copy of the SDK shares the tools instead of the older one": withPage({}, async ({ bridge, mcpWeb, tool }) => {
    mcpWeb.addTool({ name: "ours", handler: () => "ours" });
    await tool("native");
    const offered = (await bridge.registered(2)).map(({ definition }) => definition.name);
    equal(offered, ["native", "ours"]);
    const { warn } = console;
    console.warn = () => {};
    const { McpWeb: Newer } = await import("/version-99.0.0/mcp-web.js");
    assert(new Newer({ name: "Test app", storage: "none" }) === mcpWeb);
    await bridge.accept();
    console.warn = warn;
    const again = (await bridge.registered(2)).map(({ definition }) => definition.name);
    equal(again, ["native", "ours"]);
    await listed("native", "ours");
    equal(await call("ours"), "ours");
    equal((await bridge.tool("native")).result, "native");
  }),

  "a site with tools of the browser needs one call": async () => {
    await withPage({}, async () => {})();
    const over = new AbortController();
    await register("shop", over.signal);
    const bridge = new Bridge();
    const imported = Promise.withResolvers();
    const mcpWeb = connectWebMcp({ name: "Shop", storage: "none", onImportsChange: imported.resolve });
    await bridge.accept();
    await mcpWeb.connect();
    equal((await bridge.register()).map(({ definition }) => definition.name), ["shop"]);
    equal(await imported.promise, [{ name: "shop", description: "Does shop", isForm: false }]);
    equal((await bridge.tool("shop")).result, "shop");
    over.abort();
    await bridge.next("unregister");
  },
};

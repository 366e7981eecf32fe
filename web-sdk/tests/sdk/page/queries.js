/** Queries that a page sends to agents, and the events that it receives. */

import { asking, complete, nextQuery, progress, read, reconnect, say, settled, text } from "./asking.js";
import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";

export default {
  async "progress is received in order, then the answer"() {
    const { bridge, query, asked } = await asking({ prompt: "Summarise the board" });
    equal(asked, { type: "query", uuid: query.uuid, prompt: "Summarise the board", context: [] });
    assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/.test(query.uuid), query.uuid);
    const received = read(query);
    equal(query.state, "waiting");
    say(bridge, query, "accepted");
    equal(query.state, "running");
    const events = [text("Two "), { type: "tool-started", id: "1", tool: "list", arguments: {} }, text("cards")];
    for (const content of events) progress(bridge, query, content);
    const toolCalls = [{ tool: "list", arguments: {}, result: [1, 2] }];
    complete(bridge, query, { result: "Two cards", toolCalls });
    equal(await query.result, { text: "Two cards", toolCalls });
    equal([await received, await read(query), query.state], [events, events, "complete"]);
  },

  async "other agents report in their own text and JSON"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    progress(bridge, query, "Looking at the board");
    progress(bridge, query, { step: 2 });
    complete(bridge, query, { result: { cards: 2 } });
    equal(await query.result, { value: { cards: 2 }, toolCalls: [] });
    equal(await read(query), [
      { type: "progress", content: "Looking at the board" },
      { type: "progress", content: { step: 2 } },
    ]);
  },

  async "context consists of the app's values and its tools' results at the time of the query"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const contexts = [];
    const list = mcpWeb.addTool({
      name: "list",
      description: "Lists cards",
      outputSchema: { type: "object" },
      handler(input, ctx) {
        contexts.push(ctx);
        ctx.progress(1);
        ctx.log("info", "listed");
        return { input };
      },
    });
    const picture = new Blob(["x"], { type: "image/png" });
    mcpWeb.addTool({ name: "draw", handler: () => ["A board", picture] });
    const board = { cards: ["a"] };
    const context = [list, { tool: "list", arguments: { column: "todo" } }, "draw", { name: "board", value: board, schema: { type: "object" }, description: "All" }];
    mcpWeb.query({ prompt: "?", context });
    board.cards.push("b");
    const schema = { type: "object" };
    equal((await nextQuery(bridge)).context, [
      { name: "list", value: { input: {} }, schema, description: "Lists cards", type: "tool" },
      { name: "list", value: { input: { column: "todo" } }, schema, description: 'Lists cards; called with {"column":"todo"}', type: "tool" },
      { name: "draw", value: "A board\n[image/png]", type: "tool" },
      { name: "board", value: { cards: ["a"] }, schema, description: "All", type: "ephemeral" },
    ]);
    equal([contexts[0].client, contexts[0].caller], [undefined, { via: "page", roles: [] }]);
    await rejects(contexts[0].sample({ prompt: "?" }), { code: "ClientCapabilityMissing" });
    await rejects(contexts[0].elicit({ message: "?", schema }), { code: "ClientCapabilityMissing" });
  },

  async "arguments are read while they are streamed, and usage and approval are passed on"() {
    const { bridge, query } = await asking(undefined, undefined, { approvals: "app" });
    const received = read(query);
    say(bridge, query, "accepted");
    const deltas = ['{"title":"Mi', 'lk","tags":["a', '"]}'];
    deltas.forEach((delta, index) => progress(bridge, query, { type: "tool-arguments", id: "1", tool: "add", delta }, index + 1));
    const request = { type: "approval-requested", id: "1", tool: "add", arguments: { title: "Milk" }, expiresInMs: 60_000 };
    progress(bridge, query, request, 4);
    await settled();
    query.approve("1");
    query.approve("1", false);
    const answer = { type: "query_answer", uuid: query.uuid, id: "1" };
    equal(await bridge.next("query_answer"), { ...answer, approved: true });
    equal(await bridge.next("query_answer"), { ...answer, approved: false });
    const usage = { models: { m: { input: 5, output: 2, cached: 1, thinking: 0 } }, milliseconds: 12 };
    progress(bridge, query, { type: "usage", usage }, 5);
    complete(bridge, query, { result: "Done", usage });
    const events = await received;
    equal(events.slice(0, 3).map((event) => event.arguments), [
      { title: "Mi" },
      { title: "Milk", tags: ["a"] },
      { title: "Milk", tags: ["a"] },
    ]);
    equal(events.slice(3), [request, { type: "usage", usage }]);
    equal((await query.result).usage, usage);
    query.approve("1");
    await settled();
    assert(!bridge.has("query_answer"), "the query has ended");
  },

  async "an answer that matches a schema is a value, which the schema's library transforms"() {
    const library = (change) => ({
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => change(value),
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
      // Such a schema may not be expressible as JSON.
      get cyclic() {
        return this;
      },
    });
    const { bridge, query, asked } = await asking({ prompt: "?", responseSchema: { type: "string" } });
    equal(asked.responseSchema, { type: "string" });
    complete(bridge, query, { result: "text" });
    equal(await query.result, { value: "text", toolCalls: [] });

    const doubled = await asking({ prompt: "?", responseSchema: library(({ n }) => ({ value: { n: n * 2 } })) });
    equal(doubled.asked.responseSchema, { type: "object" });
    complete(doubled.bridge, doubled.query, { result: { n: 2 } });
    equal((await doubled.query.result).value, { n: 4 });

    const refused = await asking({ prompt: "?", responseSchema: library(() => ({ issues: [{ message: "too late", path: ["n"] }] })) });
    complete(refused.bridge, refused.query, { result: { n: 2 } });
    await rejects(refused.query.result, { code: "ModelAnswerInvalid", message: /responseSchema: \/n: too late/ });
    equal(refused.query.state, "failed");
  },

  async "attachments are sent as base64, and pictures are no larger than models use"() {
    const canvas = new OffscreenCanvas(3000, 30);
    canvas.getContext("2d");
    const picture = await canvas.convertToBlob({ type: "image/png" });
    const attachments = [
      new File(["hi"], "notes.txt", { type: "text/plain;charset=utf-8" }),
      picture,
      { mimeType: "application/pdf", data: "AAAA", name: "a.pdf" },
      { mimeType: "image/png", data: "no picture" },
    ];
    const { asked } = await asking({ prompt: "?", attachments });
    equal(asked.attachments[0], { name: "notes.txt", mimeType: "text/plain", data: "aGk=" });
    const { mimeType, data } = asked.attachments[1];
    const scaled = await createImageBitmap(await (await fetch(`data:${mimeType};base64,${data}`)).blob());
    equal([mimeType, scaled.width, scaled.height], ["image/png", 1568, 16]);
    equal(asked.attachments.slice(2), [
      { name: "a.pdf", mimeType: "application/pdf", data: "AAAA" },
      { mimeType: "image/png", data: "no picture" },
    ]);
  },

  async "options that cannot be sent are rejected"() {
    const mcpWeb = await new Bridge().page();
    for (const [options, message] of [
      [{ approve: "add" }, /approve must be an array/],
      [{ attachments: new Blob() }, /attachments must be an array/],
      [{ attachments: [new Blob(["x"])] }, /an attachment is a Blob with a type/],
      [{ conversation: "a b" }, /conversation must be an id/],
      [{ conversation: "." }, /conversation must be an id/],
      [{ conversation: ".." }, /conversation must be an id.*not \. or \.\./],
      [{ responseSchema: 7 }, /responseSchema has no JSON Schema/],
      [{ responseSchema: { type: "object" }, responseTool: "add" }, /exclude each other/],
    ]) {
      await rejects(mcpWeb.query({ prompt: "?", ...options }).result, { code: "QueryInvalid", message });
    }
    await rejects(mcpWeb.query({ prompt: "?", approve: ["nope"] }).result, { code: "ToolNotFound", message: /or give `profile`/ });
  },

  async "a tool of the context that fails fails the query, which is not sent"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const cause = new Error("the board is locked");
    mcpWeb.addTool({ name: "throws", handler: () => Promise.reject(cause) });
    mcpWeb.addTool({ name: "says", handler: () => ({ isError: true, content: [{ type: "text", text: "no board" }] }) });
    for (const [tool, message] of [["throws", /"throws".*the board is locked/], ["says", /"says".*no board/]]) {
      const query = mcpWeb.query({ prompt: "?", context: [tool] });
      await rejects(query.result, { name: "McpWebError", code: "HandlerFailed", message });
      equal(query.state, "failed");
    }
    assert(!bridge.has("query"));
  },

  async "tools are named by handle or name, and the response tool's call is the answer"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const inputSchema = { type: "object" };
    const order = mcpWeb.addTool({ name: "order", description: "Orders", inputSchema, annotations: { readOnlyHint: false }, handler() {} });
    mcpWeb.addTool({ name: "list", handler: () => [] });
    const query = mcpWeb.query({ prompt: "Plan", tools: ["list"], restrictTools: true, responseTool: order, timeout: 60_000, trace: { traceparent: "00-" } });
    const { timeout, ...asked } = await nextQuery(bridge);
    equal(asked, {
      type: "query",
      uuid: query.uuid,
      prompt: "Plan",
      tools: [{ name: "list" }],
      restrictTools: true,
      responseTool: { name: "order", description: "Orders", inputSchema },
      trace: { traceparent: "00-" },
      context: [],
    });
    assert(timeout > 50_000 && timeout <= 60_000, timeout);
    say(bridge, query, "accepted");
    const toolCalls = [
      { tool: "list", arguments: {}, result: [] },
      { tool: "order", arguments: { cards: ["b", "a"] }, result: "ordered" },
    ];
    complete(bridge, query, { toolCalls });
    equal((await query.result).response, { arguments: { cards: ["b", "a"] }, result: "ordered" });
  },

  async "a profile is sent with the names of the agent's tools, also in a conversation"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const list = mcpWeb.addTool({ name: "list", handler: () => [] });
    const options = { prompt: "?", profile: "staff", tools: [list, "notes-read_file"], approve: ["notes-write_file"], approvalDialog: true };
    for (const ask of [(given) => mcpWeb.query(given), (given) => mcpWeb.conversation({ id: "c" }).query(given)]) {
      ask(options);
      const { profile, tools, approve, approvalDialog } = await nextQuery(bridge);
      equal([profile, tools, approve, approvalDialog], ["staff", [{ name: "list" }, { name: "notes-read_file" }], ["notes-write_file"], undefined]);
    }
  },

  async "calls of the agent's own tools have their source and result"() {
    const { bridge, query } = await asking();
    const received = read(query);
    say(bridge, query, "accepted");
    const call = { id: "1", tool: "notes-read_file", source: "notes" };
    const events = [
      { type: "tool-started", ...call, arguments: { path: "a" } },
      { type: "tool-finished", ...call, result: "Buy milk", isError: false },
      { type: "tool-finished", ...call, isError: true, error: "too many calls", outcome: "rate_limited" },
    ];
    for (const content of events) progress(bridge, query, content);
    const toolCalls = [{ tool: "notes-read_file", source: "notes", arguments: { path: "a" }, result: "Buy milk" }];
    complete(bridge, query, { result: "Milk", toolCalls });
    equal([await received, await query.result], [events, { text: "Milk", toolCalls }]);
  },

  async "a failure rejects the result and ends the loop, with the same error"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    progress(bridge, query, text("a"));
    say(bridge, query, "failure", { code: "ModelUnauthorized", error: "the key is refused", reason: "set another" });
    const error = await query.result.catch((error) => error);
    equal([error.name, error.code, error.message, error.remedy], ["McpWebError", "ModelUnauthorized", "the key is refused: set another", "set another"]);
    const thrown = await read(query).catch((error) => error);
    assert(thrown === error);
    equal(query.state, "failed");
  },

  async "a query works without listeners"() {
    const { error } = console;
    const written = [];
    console.error = (line) => written.push(line);
    let unhandled = 0;
    const count = () => unhandled++;
    addEventListener("unhandledrejection", count);
    try {
      const { bridge, query } = await asking();
      say(bridge, query, "failure", { code: "AgentFailed", error: "no model" });
      await settled();
      await settled();
      equal([written, unhandled], [["mcp-web: the query failed: no model"], 0]);
    } finally {
      console.error = error;
      removeEventListener("unhandledrejection", count);
    }
  },

  async "the app cancels, and the bridge is notified once"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    query.cancel("no longer needed");
    equal(query.state, "cancelled");
    equal(await bridge.next("query_cancel"), { type: "query_cancel", uuid: query.uuid, reason: "no longer needed" });
    await rejects(query.result, { code: "QueryCancelled", message: "no longer needed" });
    await rejects(read(query), { code: "QueryCancelled" });
    query.cancel();
    complete(bridge, query, { result: "late" });
    await settled();
    assert(!bridge.has("query_cancel"));
    equal(query.state, "cancelled");
  },

  async "an aborted signal rejects with its reason"() {
    const controller = new AbortController();
    const { bridge, query } = await asking({ prompt: "?" }, { signal: controller.signal });
    const reason = new Error("the component is gone");
    controller.abort(reason);
    equal((await bridge.next("query_cancel")).reason, "the component is gone");
    assert((await query.result.catch((error) => error)) === reason);
    assert((await read(query).catch((error) => error)) === reason);
    equal(query.state, "cancelled");
  },

  async "a query that is cancelled before it is sent is never sent"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const aborted = mcpWeb.query({ prompt: "?" }, { signal: AbortSignal.abort() });
    await rejects(aborted.result, { name: "AbortError" });
    const early = mcpWeb.query({ prompt: "?" });
    early.cancel();
    await rejects(early.result, { code: "QueryCancelled" });
    let signal;
    mcpWeb.addTool({ name: "slow", handler: (_, ctx) => new Promise(() => (signal = ctx.signal)) });
    const preparing = mcpWeb.query({ prompt: "?", context: ["slow"] });
    while (!signal) await settled();
    preparing.cancel();
    await rejects(preparing.result, { code: "QueryCancelled" });
    assert(signal.aborted, "the handler hears it");
    equal([bridge.has("query"), bridge.has("query_cancel"), mcpWeb.openQueries], [false, false, []]);
  },

  async "the agent may give up"() {
    const { bridge, query } = await asking();
    say(bridge, query, "cancel", { reason: "shutting down" });
    await rejects(query.result, { code: "QueryCancelled", message: "shutting down" });
    equal(query.state, "cancelled");
  },

  async "a query that is too large fails with its size"() {
    const bridge = new Bridge();
    const page = bridge.page();
    const mcpWeb = await page;
    await reconnect(bridge, undefined, "b-1");
    bridge.breakConnection();
    await bridge.accept("b-1", { limits: { maxResultBytes: 1000, maxFrameBytes: 1000, maxMessageBytes: 1000, heartbeatSeconds: 20 } });
    await mcpWeb.connect();
    const query = mcpWeb.query({ prompt: "é".repeat(1000) });
    await rejects(query.result, { code: "QueryTooLarge", message: /has 2\d\d\d bytes, and the bridge takes 1000: send less/ });
    assert(!bridge.has("query"));
  },

  async "values that are not JSON are rejected"() {
    const { mcpWeb } = await asking();
    const round = {};
    round.again = round;
    for (const value of [round, 1n]) {
      await rejects(mcpWeb.query({ prompt: "?", context: [{ name: "a", value }] }).result, { code: "QueryInvalid", message: /JSON/ });
    }
    await rejects(mcpWeb.query({ prompt: "" }).result, { name: "McpWebError", code: "QueryInvalid" });
    await rejects(mcpWeb.query().result, { code: "QueryInvalid" });
  },
};

/** What a page asks agents. */

import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";
import { TabSession } from "./mcp-web/tab-session.ts";

const text = (text) => ({ type: "text", text });

/** A page that has asked, and what the bridge has heard. */
async function asking(options = { prompt: "?" }, more, pageOptions) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page(pageOptions);
  const query = mcpWeb.query(options, more);
  return { bridge, mcpWeb, query, asked: await nextQuery(bridge) };
}

/** Returns the next query that a page sends, without its time, which is the present. */
async function nextQuery(bridge) {
  const { localTime, ...asked } = await bridge.next("query");
  const [, time] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d)\[[\w/+-]+\]$/.exec(localTime);
  assert(Math.abs(Date.parse(time) - Date.now()) < 60_000, localTime);
  return asked;
}

/** The bridge says something of the query. */
const say = (bridge, { uuid }, type, fields) => bridge.say({ type: `query_${type}`, uuid, ...fields });
const progress = (bridge, query, content, number) => say(bridge, query, "progress", { content, number });
const complete = (bridge, query, fields) => say(bridge, query, "complete", { toolCalls: [], ...fields });

async function read(query) {
  const events = [];
  for await (const event of query) events.push(event);
  return events;
}

/** Cuts the connection and lets the page in again. */
async function reconnect(bridge, meanwhile = () => {}, bridgeId) {
  bridge.breakConnection();
  await meanwhile();
  await bridge.accept(bridgeId);
}

/** What has been begun has come so far. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

export default {
  // First: all pages of the document hear that they are put aside.
  async "a page that was put aside and is shown again takes its queries up"() {
    const { bridge, mcpWeb, query } = await asking();
    say(bridge, query, "accepted");
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    await bridge.next("leaving");
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    await bridge.accept();
    equal((await bridge.next("query_attach")).uuid, query.uuid);
    complete(bridge, query, { result: "Done" });
    equal((await query.result).text, "Done");
    await mcpWeb.disconnect();
  },

  async "progress is heard in order, then the answer"() {
    const { bridge, query, asked } = await asking({ prompt: "Summarise the board" });
    equal(asked, { type: "query", uuid: query.uuid, prompt: "Summarise the board", context: [] });
    assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/.test(query.uuid), query.uuid);
    const heard = read(query);
    equal(query.state, "waiting");
    say(bridge, query, "accepted");
    equal(query.state, "running");
    const told = [text("Two "), { type: "tool-started", id: "1", tool: "list", arguments: {} }, text("cards")];
    for (const content of told) progress(bridge, query, content);
    const toolCalls = [{ tool: "list", arguments: {}, result: [1, 2] }];
    complete(bridge, query, { result: "Two cards", toolCalls });
    equal(await query.result, { text: "Two cards", toolCalls });
    equal([await heard, await read(query), query.state], [told, told, "complete"]);
  },

  async "other agents tell in words and JSON of their own"() {
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

  async "context is what the app knows and what its tools say, as it was when the app asked"() {
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

  async "arguments are read while they are written, usage and approval are passed on"() {
    const { bridge, query } = await asking();
    const heard = read(query);
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
    const events = await heard;
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

  async "an answer that fits a schema is a value, which the schema's library changes"() {
    const library = (change) => ({
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => change(value),
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
      // Such a schema may have no JSON.
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

  async "attachments are sent as base64, and pictures no larger than models use"() {
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

  async "a conversation is named in its queries, and kept by the agent"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const conversation = mcpWeb.conversation();
    assert(/^[0-9a-f-]{36}$/.test(conversation.id), conversation.id);
    conversation.query({ prompt: "?" });
    equal((await nextQuery(bridge)).conversation, conversation.id);
    const asked = [];
    const { fetch } = globalThis;
    const answers = [
      Response.json({ conversations: [{ id: "c" }] }),
      Response.json({ messages: [{ role: "user", text: "?" }] }),
      Response.json({ code: "ConversationNotFound" }, { status: 404 }),
      new Response(null, { status: 204 }),
      Response.json({ error: "AgentNotConfigured", message: "the bridge has no agent" }, { status: 503 }),
    ];
    globalThis.fetch = async (url, { method, headers }) => {
      asked.push(`${method} ${new URL(url).pathname}${new URL(url).search}`);
      equal(headers.authorization, `Bearer ${mcpWeb.authToken}`);
      return answers.shift();
    };
    try {
      const named = mcpWeb.conversation({ id: "a/b" });
      equal(await mcpWeb.conversations(), [{ id: "c" }]);
      equal(await named.history(), [{ role: "user", text: "?" }]);
      equal(await named.history(), []);
      await named.clear();
      await rejects(named.clear(), { code: "AgentNotConfigured", message: /has no agent/ });
      for (const id of [".", ".."]) {
        const refused = { code: "QueryInvalid", message: /is not the id of a conversation/ };
        await rejects(mcpWeb.conversation({ id }).history(), refused);
        await rejects(mcpWeb.conversation({ id }).clear(), refused);
      }
    } finally {
      globalThis.fetch = fetch;
    }
    const session = `?sessionId=${mcpWeb.sessionId}`;
    const one = `/conversations/a%2Fb${session}`;
    equal(asked, [`GET /conversations${session}`, `GET ${one}`, `GET ${one}`, `DELETE ${one}`, `DELETE ${one}`]);
  },

  async "a request for conversations ends in time, is sent with a token only, and its answer is JSON"() {
    const mcpWeb = await new Bridge().page();
    const { McpWeb } = await import("./mcp-web.js");
    const { fetch } = globalThis;
    const { timeout } = AbortSignal;
    let answer;
    globalThis.fetch = async () => answer();
    try {
      for (const text of ["", "<html>", "7", "null"]) {
        answer = () => new Response(text);
        await rejects(mcpWeb.conversations(), { code: "AgentFailed", message: /HTTP 200 without JSON/ });
      }
      answer = () => new Response("Bad gateway", { status: 502 });
      await rejects(mcpWeb.conversations(), { code: "AgentFailed", message: /HTTP 502/ });
      let asked;
      AbortSignal.timeout = (ms) => AbortSignal.abort(new DOMException(`${ms} ms`, "TimeoutError"));
      globalThis.fetch = async (_, { signal }) => {
        asked = signal.reason.message;
        throw signal.reason;
      };
      await rejects(mcpWeb.conversations(), { code: "BridgeUnreachable" });
      equal(asked, "60000 ms");
      globalThis.fetch = () => assert(false, "a request without a token");
      const early = new McpWeb({ name: "No token", storage: "none", autoConnect: false, authToken: async () => "t".repeat(16) });
      await rejects(early.conversations(), { code: "MissingAuthentication", message: /wait until mcpWeb.status is connected/ });
    } finally {
      globalThis.fetch = fetch;
      AbortSignal.timeout = timeout;
    }
  },

  async "options that cannot be sent are refused"() {
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
    await rejects(mcpWeb.query({ prompt: "?", approve: ["nope"] }).result, { code: "ToolNotFound" });
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
    const query = mcpWeb.query({ prompt: "Plan", tools: ["list"], restrictTools: true, responseTool: order, timeout: 60_000 });
    const { timeout, ...asked } = await nextQuery(bridge);
    equal(asked, {
      type: "query",
      uuid: query.uuid,
      prompt: "Plan",
      tools: [{ name: "list" }],
      restrictTools: true,
      responseTool: { name: "order", description: "Orders", inputSchema },
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

  async "nobody has to listen"() {
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

  async "the app cancels, and the bridge hears it once"() {
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

  async "what is cancelled before it is sent is never sent"() {
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

  async "a query waits for the connection"() {
    const bridge = new Bridge();
    const page = bridge.page();
    const { McpWeb } = await import("./mcp-web.js");
    const idle = new McpWeb({ name: "Idle", storage: "none", autoConnect: false });
    const mcpWeb = await page;
    bridge.breakConnection();
    const query = mcpWeb.query({ prompt: "?" });
    await settled();
    equal([query.state, bridge.has("query"), mcpWeb.openQueries], ["waiting", false, []]);
    await bridge.accept();
    equal((await nextQuery(bridge)).uuid, query.uuid);
    equal(mcpWeb.openQueries, [query.uuid]);
    const early = idle.query({ prompt: "?" });
    await settled();
    equal(early.state, "waiting");
    early.cancel();
    await rejects(early.result, { code: "QueryCancelled" });
  },

  async "what was not taken before the connection broke is asked again, as the same"() {
    const { bridge, query, asked } = await asking();
    await reconnect(bridge);
    equal(await nextQuery(bridge), asked);
    say(bridge, query, "accepted");
    // The first had been taken after all.
    complete(bridge, query, { result: "Done" });
    say(bridge, query, "failure", { code: "QueryCompleted", error: "asked before" });
    equal((await query.result).text, "Done");
  },

  async "what was taken is taken up after a broken connection, and nothing is heard twice"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    progress(bridge, query, text("a"), 1);
    progress(bridge, query, text("b"), 2);
    await reconnect(bridge);
    equal(await bridge.next("query_attach"), { type: "query_attach", uuid: query.uuid });
    say(bridge, query, "accepted");
    progress(bridge, query, { type: "note", text: "earlier progress was dropped" });
    for (const [at, piece] of ["a", "b", "c"].entries()) progress(bridge, query, text(piece), at + 1);
    complete(bridge, query, { result: "abc" });
    complete(bridge, query, { result: "abc" });
    equal(await read(query), [text("a"), text("b"), { type: "note", text: "earlier progress was dropped" }, text("c")]);
    assert(!bridge.has("query"));
  },

  async "a cancel without a connection is told on the next"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    await reconnect(bridge, () => query.cancel("enough"));
    equal(await bridge.next("query_cancel"), { type: "query_cancel", uuid: query.uuid, reason: "enough" });
    await rejects(query.result, { code: "QueryCancelled" });
    await settled();
    assert(!bridge.has("query_attach"));
  },

  async "an answer to a request for approval is stored until the page is connected, and dropped with its query"() {
    const { bridge, mcpWeb, query } = await asking();
    const over = mcpWeb.query({ prompt: "!" });
    await nextQuery(bridge);
    for (const { uuid } of [query, over]) say(bridge, { uuid }, "accepted");
    await reconnect(bridge, () => {
      query.approve("1", false);
      query.approve("2");
      over.approve("3");
      over.cancel();
    });
    equal((await bridge.next("query_attach")).uuid, query.uuid);
    const answer = { type: "query_answer", uuid: query.uuid };
    equal(await bridge.next("query_answer"), { ...answer, id: "1", approved: false });
    equal(await bridge.next("query_answer"), { ...answer, id: "2", approved: true });
    await reconnect(bridge);
    await bridge.next("query_attach");
    assert(!bridge.has("query_answer"), "each answer is sent once, and none for a query that has ended");
  },

  async "a page that has not connected yet stores its answers"() {
    const bridge = new Bridge();
    const { McpWeb } = await import("./mcp-web.js");
    const mcpWeb = new McpWeb({ name: "Not connected", storage: "none", autoConnect: false });
    const query = mcpWeb.attachQuery("u");
    await settled();
    query.approve("1");
    const connecting = mcpWeb.connect();
    await bridge.accept();
    await connecting;
    equal((await bridge.next("query_attach")).uuid, "u");
    equal(await bridge.next("query_answer"), { type: "query_answer", uuid: "u", id: "1", approved: true });
  },

  async "a restarted bridge does not know the query"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    await reconnect(bridge, undefined, "b-2");
    await bridge.next("query_attach");
    say(bridge, query, "failure", { code: "QueryNotFound", error: "there is no such query", reason: "ask again" });
    await rejects(query.result, { code: "QueryNotFound", remedy: "ask again" });
  },

  async "what no agent takes in its time fails, and the bridge hears so"() {
    const { bridge, query } = await asking({ prompt: "?", timeout: 30 });
    await rejects(query.result, { code: "QueryTimeout", message: /no agent took the query within 30 ms/ });
    equal((await bridge.next("query_cancel")).uuid, query.uuid);
    const taken = await asking({ prompt: "?", timeout: 30 });
    say(taken.bridge, taken.query, "accepted");
    await rejects(taken.mcpWeb.query({ prompt: "?", timeout: 31 }).result, { code: "QueryTimeout" });
    equal(taken.query.state, "running", "the bridge looks after that");
  },

  async "disconnecting cancels, and nothing can be asked then"() {
    const { bridge, mcpWeb, query } = await asking();
    say(bridge, query, "accepted");
    await mcpWeb.disconnect();
    equal((await bridge.next("query_cancel")).uuid, query.uuid);
    await rejects(query.result, { code: "Disconnected" });
    equal(query.state, "cancelled");
    await rejects(mcpWeb.query({ prompt: "?" }).result, { code: "Disconnected", message: /connect\(\) first/ });
  },

  async "a final failure of the connection is that of its queries"() {
    const { bridge, mcpWeb, query } = await asking({ prompt: "?" }, undefined, { sessionId: "mine" });
    bridge.say({ type: "session-closed", code: "SessionExpired", reason: "too long" });
    await rejects(query.result, { code: "SessionExpired" });
    await rejects(mcpWeb.query({ prompt: "?" }).result, { code: "SessionExpired" });
  },

  async "the queries of a session that another tab took over are its no more"() {
    const { bridge, mcpWeb, query } = await asking();
    say(bridge, query, "accepted");
    bridge.say({ type: "session-closed", code: "SessionSuperseded", reason: "another connection took over" });
    await rejects(query.result, { code: "SessionSuperseded" });
    equal(mcpWeb.openQueries, []);
    await bridge.accept();
    await mcpWeb.connect();
    assert(!bridge.has("query_attach"));
  },

  async "a query that is too large says how large"() {
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

  async "what is not JSON is refused"() {
    const { mcpWeb } = await asking();
    const round = {};
    round.again = round;
    for (const value of [round, 1n]) {
      await rejects(mcpWeb.query({ prompt: "?", context: [{ name: "a", value }] }).result, { code: "QueryInvalid", message: /JSON/ });
    }
    await rejects(mcpWeb.query({ prompt: "" }).result, { name: "McpWebError", code: "QueryInvalid" });
    await rejects(mcpWeb.query().result, { code: "QueryInvalid" });
  },

  async "the next document of a tab takes its queries up, and a copy of the tab does not"() {
    const bridge = new Bridge();
    const options = { name: "Reloaded", storage: "local", authToken: "0123456789abcdef" };
    const mcpWeb = await bridge.page(options);
    const [query, over] = [mcpWeb.query({ prompt: "?" }), mcpWeb.query({ prompt: "!" })];
    await nextQuery(bridge);
    await nextQuery(bridge);
    complete(bridge, over, { result: "" });
    await over.result;
    const session = (name = "Reloaded") => new TabSession({ name }, mcpWeb.bridgeUrl);
    equal([...session().queries], [], "a copy of the living tab");
    dispatchEvent(new PageTransitionEvent("pagehide"));
    const next = new Bridge();
    const page = await next.page(options);
    equal([page.sessionId, page.openQueries], [mcpWeb.sessionId, [query.uuid]]);
    equal([...session().queries], [], "taken");
    const attached = page.attachQuery(query.uuid);
    equal(await next.next("query_attach"), { type: "query_attach", uuid: query.uuid });
    say(next, query, "accepted");
    progress(next, query, text("kept"), 7);
    equal(attached.state, "running");
    const toolCalls = [{ tool: "order", arguments: { a: 1 }, result: "ok" }];
    complete(next, query, { toolCalls });
    equal(await attached.result, { response: { arguments: { a: 1 }, result: "ok" }, toolCalls });
    equal([await read(attached), page.openQueries], [[text("kept")], []]);
  },

  async "a query of a former document that is not there any more fails, and is open no longer"() {
    const key = "mcp-web:session:http://bridge.example:Gone";
    sessionStorage.setItem(key, "former-session u-1 u-2");
    const bridge = new Bridge();
    const mcpWeb = await bridge.page({ name: "Gone", storage: "session", bridgeUrl: "http://bridge.example" });
    equal([mcpWeb.sessionId, mcpWeb.openQueries], ["former-session", ["u-1", "u-2"]]);
    const query = mcpWeb.attachQuery("u-1");
    await bridge.next("query_attach");
    say(bridge, query, "failure", { code: "QueryNotFound", error: "there is no such query" });
    await rejects(query.result, { code: "QueryNotFound" });
    equal(mcpWeb.openQueries, ["u-2"]);
  },

  async "this document's own queries can be taken up, too"() {
    const { bridge, mcpWeb, query } = await asking();
    const again = mcpWeb.attachQuery(query.uuid);
    await settled();
    say(bridge, query, "accepted");
    progress(bridge, query, text("a"));
    complete(bridge, query, { result: "a" });
    equal([await read(again), (await again.result).text, again.uuid], [[text("a")], "a", query.uuid]);
    assert(!bridge.has("query_attach"));
  },

  async "the app's own session keeps its queries over a reload"() {
    const options = ["own", { sessionId: "my session" }];
    const session = () => new TabSession({ name: options[0], ...options[1] }, "http://bridge.example");
    session().queries.add("u-1").add("u-2");
    dispatchEvent(new PageTransitionEvent("pagehide"));
    const { id, queries } = session();
    equal([id, [...queries]], ["my session", ["u-1", "u-2"]]);
    dispatchEvent(new PageTransitionEvent("pagehide"));
    session();
  },
};

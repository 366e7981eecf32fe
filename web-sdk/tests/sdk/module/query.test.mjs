// The parts of a query, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { McpWebError } from "../../../js/mcp-web/error.ts";
import { PageQuery, randomUuid } from "../../../js/mcp-web/query.ts";
import { parseQueryResult, parseQueryFailure } from "../../../js/query/query-result.ts";
import { MAX_STORED_CHARS, QueryEvents, parseEvent } from "../../../js/query/events.ts";
import { buildQueryRequest, localTime } from "../../../js/query/query-request.ts";

const text = (text) => ({ type: "text", text });

async function read(events, most = Infinity) {
  const read = [];
  for await (const event of events) if (read.push(event) >= most) break;
  return read;
}

test("a uuid has version 4", () => {
  assert.match(randomUuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("events of our agent are distinguished from those of others", () => {
  const started = { type: "tool-started", id: "1", tool: "t", arguments: {} };
  const finished = { type: "tool-finished", id: "1", tool: "n-t", source: "n", result: "text", isError: false };
  for (const ours of [text(""), { type: "note", text: "n" }, started, { ...started, source: "n" }, finished]) {
    assert.equal(parseEvent(ours), ours);
  }
  for (const other of ["half", 1, null, [], {}, { type: "text" }, { type: "tool-started", id: 1, tool: "t" }, { ...started, source: 1 }, { ...finished, result: {} }, { type: "constructor" }]) {
    assert.deepEqual(parseEvent(other), { type: "progress", content: other });
  }
});

test("each reader gets all events in order, even if it starts late", async () => {
  const events = new QueryEvents();
  const early = read(events.all());
  events.push(text("a"));
  const first = await read(events.all(), 1);
  events.push(text("b"));
  events.end();
  assert.deepEqual(first, [text("a")]);
  assert.deepEqual(await early, [text("a"), text("b")]);
  assert.deepEqual(await read(events.all()), [text("a"), text("b")]);
});

test("a failed query throws after all of its events", async () => {
  const events = new QueryEvents();
  events.push(text("a"));
  const error = new Error("it failed");
  events.end(error);
  const reader = events.all();
  assert.deepEqual((await reader.next()).value, text("a"));
  await assert.rejects(reader.next(), error);
});

test("stored events are limited, and a reader that missed some is notified once", async () => {
  const events = new QueryEvents();
  const slow = events.all();
  events.push(text("first"));
  assert.deepEqual((await slow.next()).value, text("first"));
  const piece = "x".repeat(1000);
  const many = Math.ceil((2 * MAX_STORED_CHARS) / piece.length);
  for (let count = 0; count < many; count++) events.push(text(piece));
  events.push(text("last"));
  events.end();
  for (const reader of [slow, events.all()]) {
    const [note, ...kept] = await read(reader);
    assert.deepEqual(note, { type: "note", text: "Earlier progress is not kept." });
    assert(kept.every(({ type }) => type === "text"));
    assert.deepEqual(kept.at(-1), text("last"));
    const size = JSON.stringify(kept).length;
    assert(size > MAX_STORED_CHARS / 2 && size < MAX_STORED_CHARS * 1.1, String(size));
  }
});

test("a single event over the storage limit is stored", async () => {
  const events = new QueryEvents();
  events.push(text("small"));
  events.push(text("x".repeat(MAX_STORED_CHARS + 1)));
  events.end();
  assert.deepEqual((await read(events.all())).map((event) => event.text.length), [29, MAX_STORED_CHARS + 1]);
});

test("an answer is text, the call of the response tool, or a value of another agent", () => {
  const call = (tool, result) => ({ tool, arguments: { a: 1 }, result });
  const toolCalls = [call("list", 1), call("order", 2), call("order", 3), call("list", 4)];
  const response = { arguments: { a: 1 }, result: 3 };
  assert.deepEqual(parseQueryResult({ result: "Two", toolCalls }, {}), { text: "Two", toolCalls });
  assert.deepEqual(parseQueryResult({ result: { n: 1 }, toolCalls }, {}), { value: { n: 1 }, toolCalls });
  assert.deepEqual(parseQueryResult({ result: null, toolCalls }, undefined), { value: null, toolCalls });
  assert.deepEqual(parseQueryResult({ toolCalls }, { responseTool: { name: "order" } }), { response, toolCalls });
  assert.deepEqual(parseQueryResult({ toolCalls: [] }, { responseTool: { name: "order" } }), { toolCalls: [] });
  assert.deepEqual(parseQueryResult({ toolCalls }, {}), { toolCalls });
  // The query belongs to another document, and its last call has ended it.
  assert.deepEqual(parseQueryResult({ toolCalls }).response.result, 4);
  // The calls of the agent's own tools come after those of the page's, and are not the answer.
  const all = [...toolCalls, { ...call("order", "text"), source: "shop" }];
  assert.deepEqual(parseQueryResult({ toolCalls: all }, { responseTool: { name: "order" } }), { response, toolCalls: all });
  assert.deepEqual(parseQueryResult({ toolCalls: all }).response.result, 4);
  assert.deepEqual(parseQueryResult({ toolCalls: all.slice(-1) }), { toolCalls: all.slice(-1) });
});

test("a failure has the advice of the bridge", () => {
  const error = parseQueryFailure({ error: "Missing Agent URL", reason: "set `agent_url`", code: "AgentNotConfigured" }, McpWebError);
  assert.deepEqual(
    [error.code, error.message, error.remedy, error instanceof McpWebError],
    ["AgentNotConfigured", "Missing Agent URL: set `agent_url`", "set `agent_url`", true],
  );
  assert.equal(parseQueryFailure({ error: "no model", code: "AgentFailed" }, McpWebError).message, "no model");
});

test("a query that cannot start fails, with the reason in each interface", async () => {
  const error = new McpWebError("QueryUnavailable", "not there");
  const query = new PageQuery("u", Promise.reject(error), () => {});
  await assert.rejects(query.result, error);
  assert.equal(query.state, "failed");
  query.cancel();
  await assert.rejects(read(query), error);
});

test("only an unobserved failure is written to the console", async () => {
  const { error: write } = console;
  const written = [];
  console.error = (line) => written.push(line);
  try {
    const failing = () => new PageQuery("u", Promise.reject(new Error("gone")), () => {});
    const observed = failing();
    await assert.rejects(observed.result);
    failing();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(written, ["mcp-web: the query failed: gone"]);
  } finally {
    console.error = write;
  }
});

const TOOLS = [{ kind: "tool", id: "list", json: '{"name":"list","description":"Lists"}', definition: { handler: () => [1] } }];
const PORT = {
  McpWebError,
  tools: () => [...TOOLS, { kind: "prompt", id: "review", json: "{}" }],
  toolResult: async (value) => ({ result: JSON.stringify(value) }),
  createError: (code, what, remedy) => Object.assign(new McpWebError(code, `${what}: ${remedy}`), { remedy }),
};
const question = (given) => {
  const json = JSON.stringify(given, (_, value) => value ?? null);
  return buildQueryRequest(given, JSON.parse(json), PORT, new AbortController().signal);
};

const wrong = [
  [undefined, "QueryInvalid", /pass one such as/],
  ["Summarise", "QueryInvalid", /it needs an object/],
  [{}, "QueryInvalid", /prompt must be a text/],
  [{ prompt: "  " }, "QueryInvalid", /not empty/],
  [{ prompt: "?", promt: "?" }, "QueryInvalid", /no option "promt": the options are prompt, context/],
  [{ prompt: "?", context: "board" }, "QueryInvalid", /context must be an array/],
  [{ prompt: "?", context: [{ value: 1 }] }, "QueryInvalid", /needs a name/],
  [{ prompt: "?", context: [{ name: "a", value: new Map([[1, 2]]) }] }, "QueryInvalid", /"a" is a Map, which is not JSON/],
  [{ prompt: "?", context: [{ name: "a", value: new Blob(["b"]) }] }, "QueryInvalid", /is a Blob/],
  [{ prompt: "?", context: [{ name: "a", value() {} }] }, "QueryInvalid", /is a function/],
  [{ prompt: "?", context: [{ name: "a", value: 1, schema: "string" }] }, "QueryInvalid", /schema of context "a"/],
  [{ prompt: "?", context: ["lst"] }, "ToolNotFound", /no tool "lst", which context names: .*\(list\)/],
  [{ prompt: "?", context: [{ tool: "review" }] }, "ToolNotFound", /no tool "review"/],
  [{ prompt: "?", context: [1] }, "ToolNotFound", /by its handle or its name/],
  [{ prompt: "?", context: [null] }, "ToolNotFound", /by its handle or its name/],
  [{ prompt: "?", tools: "list" }, "QueryInvalid", /tools must be an array/],
  [{ prompt: "?", tools: ["nope"] }, "ToolNotFound", /which tools names: .*\(list\), or give `profile` to name tools of the agent$/],
  [{ prompt: "?", approve: ["nope"] }, "ToolNotFound", /which approve names: .*, or give `profile` to name tools of the agent$/],
  [{ prompt: "?", approve: [""] }, "ToolNotFound", /by its handle or its name: .*\(list\)$/],
  [{ prompt: "?", profile: "staff", tools: [""] }, "ToolNotFound", /by its handle or its name/],
  [{ prompt: "?", profile: "staff", tools: [{ name: "removed" }] }, "ToolNotFound", /no tool "removed".*\(list\)$/],
  [{ prompt: "?", profile: "staff", approve: [{ name: "removed" }] }, "ToolNotFound", /no tool "removed"/],
  [{ prompt: "?", profile: "staff", responseTool: "notes-read_file" }, "ToolNotFound", /which responseTool names: .*\(list\)$/],
  [{ prompt: "?", profile: "staff", context: ["notes-read_file"] }, "ToolNotFound", /which context names: .*\(list\)$/],
  [{ prompt: "?", profile: "" }, "QueryInvalid", /profile must be a name: pass 1 to 32 characters/],
  [{ prompt: "?", profile: "a b" }, "QueryInvalid", /profile must be a name/],
  [{ prompt: "?", profile: "a".repeat(33) }, "QueryInvalid", /profile must be a name/],
  [{ prompt: "?", profile: 7 }, "QueryInvalid", /profile must be a name/],
  [{ prompt: "?", approvalDialog: "no" }, "QueryInvalid", /approvalDialog must be true or false/],
  [{ prompt: "?", responseTool: { name: "nope" } }, "ToolNotFound", /which responseTool names/],
  [{ prompt: "?", restrictTools: true }, "QueryInvalid", /restrictTools without tools/],
  [{ prompt: "?", timeout: 1.5 }, "QueryInvalid", /whole number of milliseconds/],
  [{ prompt: "?", timeout: -1 }, "QueryInvalid", /whole number of milliseconds/],
  [{ prompt: "?", timeout: "1 min" }, "QueryInvalid", /whole number of milliseconds/],
];
for (const [given, code, message] of wrong) {
  test(`${JSON.stringify(given)} is rejected with advice`, () =>
    assert.rejects(question(given), (error) => error.code === code && message.test(error.message) && error.message.endsWith(error.remedy)));
}

test("no tool runs for a rejected query", async () => {
  let runs = 0;
  const [list] = TOOLS;
  const handler = list.definition.handler;
  list.definition.handler = () => runs++;
  await assert.rejects(question({ prompt: "?", context: ["list", "nope"] }), { code: "ToolNotFound" });
  list.definition.handler = handler;
  assert.equal(runs, 0);
});

test("with a profile, unknown names are tools of the agent", async () => {
  const tools = ["list", "notes-read_file"];
  const fields = await question({ prompt: "?", profile: "staff_2-b", tools, restrictTools: true, approve: tools, approvalDialog: false });
  const { localTime, ...sent } = JSON.parse(JSON.stringify(fields));
  assert.deepEqual(sent, {
    prompt: "?",
    tools: [{ name: "list", description: "Lists" }, { name: "notes-read_file" }],
    restrictTools: true,
    approve: tools,
    profile: "staff_2-b",
    context: [],
  });
});

test("absent options are not sent", async () => {
  const missing = { tools: null, responseTool: undefined, restrictTools: undefined, timeout: undefined, profile: undefined, approvalDialog: undefined };
  const given = { prompt: "?", context: undefined, ...missing };
  const { localTime, ...fields } = await question(given);
  assert.deepEqual(fields, { prompt: "?", context: [] });
});

test("the time is the page's, with its offset and time zone", () => {
  const at = (offset) => Object.assign(new Date(2026, 1, 3, 4, 5, 6), { getTimezoneOffset: () => offset });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const [offset, expected] of [[-60, "+01:00"], [210, "-03:30"], [0, "+00:00"], [-345, "+05:45"]]) {
    assert.equal(localTime(at(offset)), `2026-02-03T04:05:06${expected}[${zone}]`);
  }
});

test("partial arguments are an incomplete object, and are not stored twice", () => {
  const events = new QueryEvents();
  const read = [];
  const reading = (async () => {
    for await (const event of events.all()) read.push(event);
  })();
  for (const delta of ["", "{", '"a', '":tr', "ue}"]) events.push({ type: "tool-arguments", id: "1", tool: "t", delta });
  events.push({ type: "tool-started", id: "1", tool: "t", arguments: { a: true } });
  events.push({ type: "tool-arguments", id: "1", tool: "t", delta: "no JSON" });
  events.end();
  return reading.then(() => {
    const values = read.filter(({ type }) => type === "tool-arguments").map((event) => event.arguments);
    assert.deepEqual(values.slice(0, 2), [{}, {}]);
    assert.deepEqual(values.slice(4), [{ a: true }, {}]);
    assert.deepEqual(Object.keys(read[4]), ["type", "id", "tool", "delta"]);
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/** Returns how many bytes of memory stay in use for the value that `run` returns. */
function memoryOf(run) {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const held = run();
  collectGarbage();
  return [process.memoryUsage().heapUsed - before, held];
}

test("the memory for partial arguments grows with their text, even if each event is read", () => {
  const [bytes, read] = memoryOf(() => {
    const [events, read] = [new QueryEvents(), []];
    for (let count = 0; count < 1000; count++) {
      const event = { type: "tool-arguments", id: "1", tool: "t", delta: count ? `,"${"x".repeat(60)}"` : "[1" };
      events.push(event);
      assert.equal(event.arguments.length, count + 1);
      read.push(event);
    }
    return [events, read];
  });
  assert.equal(read[1].length, 1000);
  assert(bytes < 5_000_000, `${bytes} bytes`);
});

test("the texts of arguments are dropped when the query ends", () => {
  const [bytes, events] = memoryOf(() => {
    const events = new QueryEvents();
    events.push({ type: "tool-arguments", id: "1", tool: "t", delta: `"${Buffer.alloc(10_000_000, "x")}` });
    // This replaces the previous event, which is larger than the storage limit.
    events.push(text("Done."));
    events.end();
    return events;
  });
  assert(bytes < 5_000_000, `${bytes} bytes for ${events.constructor.name}`);
});

test("undefined context is null, and dates and instances are converted as by JSON", async () => {
  class Card {
    title = "a";
  }
  const at = new Date(0);
  const context = [["none", undefined], ["at", at], ["card", new Card()], ["empty", {}]].map(([name, value]) => ({ name, value }));
  const values = (await question({ prompt: "?", context })).context.map(({ value }) => value);
  assert.deepEqual(values, [null, at.toISOString(), { title: "a" }, {}]);
});

// The parts of `<mcp-web-ask>`, without a page.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { failureText } from "../../../js/ask/failures.ts";
import { announcements, plainText } from "../../../js/ask/speech.ts";
import { MAX_STORED_CHARS, loadConversation, storeConversation } from "../../../js/ask/stored-conversation.ts";
import { completeStrings } from "../../../js/ask/strings.ts";
import { answerText, applyEvent, cancelTurn, completeTurn, createTurn, failTurn, isOver } from "../../../js/ask/turn.ts";
import { McpWebAskElement } from "../../../js/mcp-web-ask.ts";

const text = (text) => ({ type: "text", text });
const started = (id, tool) => ({ type: "tool-started", id, tool, arguments: {} });
const finished = (id, tool, error, outcome) => ({ type: "tool-finished", id, tool, isError: error !== undefined, error, outcome });
const after = (events, from = createTurn("Plan", "Plan my day")) => events.reduce(applyEvent, from);
const states = ({ blocks }) => blocks.flatMap(({ calls = [] }) => calls.map(({ state }) => state));

test("a server can import the module", () => {
  assert.equal(typeof McpWebAskElement, "function");
});

test("pieces of text are joined until another event comes", () => {
  const turn = after([text("Two cards "), text("are late."), started("1", "list"), { type: "note", text: "busy" }, text("Done.")]);
  assert.equal(turn.state, "running");
  assert.deepEqual(turn.blocks.map(({ kind, text }) => text ?? kind), ["Two cards are late.", "calls", "busy", "Done."]);
  assert.equal(answerText(turn), "Two cards are late.\n\nDone.");
});

test("parallel calls are one part, each with its outcome", () => {
  const turn = after([started("1", "a"), started("2", "b"), finished("2", "b", "locked"), finished("1", "a"), started("3", "c")]);
  assert.equal(turn.blocks.length, 1);
  assert.deepEqual(states(turn), ["done", "failed", "running"]);
  assert.equal(turn.blocks[0].calls[1].error, "locked");
});

test("a call that needs approval keeps its place, and a refused call has not failed", () => {
  const asked = after([{ type: "approval-requested", id: "1", tool: "clear", arguments: {}, expiresInMs: 1 }, text("…")]);
  assert.deepEqual(states(asked), ["waiting"]);
  const allowed = after([started("1", "clear"), finished("1", "clear")], asked);
  assert.deepEqual([states(allowed), allowed.blocks.length], [["done"], 2]);
  const denied = after([finished("1", "clear", "denied", "denied")], asked);
  assert.deepEqual(states(denied), ["cancelled"]);
});

test("the end of a query ends running calls, and a streamed text is not repeated", () => {
  const running = after([text("So be it."), started("1", "a")]);
  assert.deepEqual(states(completeTurn(running, { toolCalls: [] })), ["done"]);
  assert.deepEqual(states(cancelTurn(running)), ["cancelled"]);
  const failed = failTurn(running, { message: "it broke" });
  assert.deepEqual([states(failed), failed.state, isOver(failed), isOver(running)], [["cancelled"], "failed", true, false]);
  assert.equal(answerText(completeTurn(running, { text: "So be it.", toolCalls: [] })), "So be it.");
  assert.equal(answerText(completeTurn(running, { text: "Or not.", toolCalls: [] })), "So be it.\n\nOr not.");
  assert.equal(answerText(completeTurn(after([]), { value: { a: 1 }, toolCalls: [] })), '```json\n{\n  "a": 1\n}\n```');
  assert.equal(answerText(completeTurn(after([]), { toolCalls: [] }, "**c1**")), "**c1**");
});

test("the call that is the answer is shown, even if its start was not reported", () => {
  const result = { response: { arguments: { a: 1 }, result: 1 }, toolCalls: [{ tool: "choose", arguments: { a: 1 }, result: 1 }] };
  assert.deepEqual(states(completeTurn(after([text("Hm.")]), result)), ["done"]);
  assert.deepEqual(states(completeTurn(after([started("1", "choose"), finished("1", "choose", "no")]), result)), ["failed", "done"]);
  assert.deepEqual(states(completeTurn(after([started("1", "choose")]), result)), ["done"]);
});

test("a call of a source has its source and result, and is not the answer", () => {
  const source = "notes";
  const turn = after([
    { ...started("1", "notes-read_file"), source },
    { ...finished("1", "notes-read_file"), source, result: "Buy milk" },
    { type: "approval-requested", id: "2", tool: "notes-write_file", source, arguments: {}, expiresInMs: 1 },
  ]);
  assert.deepEqual(
    turn.blocks[0].calls.map(({ tool, source, result }) => [tool, source, result]),
    [["notes-read_file", "notes", "Buy milk"], ["notes-write_file", "notes", undefined]],
  );
  const toolCalls = [{ tool: "choose", arguments: { a: 1 }, result: 1 }, { tool: "notes-read_file", source, arguments: {}, result: "Buy milk" }];
  const complete = completeTurn(turn, { response: { arguments: { a: 1 }, result: 1 }, toolCalls });
  assert.deepEqual(complete.blocks[0].calls.map(({ tool }) => tool), ["notes-read_file", "notes-write_file", "choose"]);
});

test("invisible characters are shown in calls, notes, errors, announcements and copies", () => {
  const unseen = "\u202e\u3164";
  const seen = String.raw`\u{202e}\u{3164}`;
  const source = `s${unseen}`;
  const call = { id: "1", tool: `${source}-t${unseen}`, source };
  const events = [{ ...started("1", ""), ...call }, { ...finished("1", "", `e${unseen}`), ...call, result: unseen }, { type: "note", text: `n${unseen}` }];
  const turn = after([...events, { type: "progress", content: `p${unseen}` }, text(`a${unseen}`)]);
  assert.deepEqual(turn.blocks[0].calls, [{ id: "1", tool: `s${seen}-t${seen}`, source: `s${seen}`, state: "failed", arguments: {}, error: `e${seen}`, result: seen }]);
  assert.deepEqual(turn.blocks.map((block) => block.text), [undefined, `n${seen}`, `p${seen}`, `a${unseen}`]);
  assert.equal(answerText(turn), `a${seen}`);
  const failed = failTurn(turn, { message: `m${unseen}`, remedy: `r${unseen}` });
  assert.deepEqual(failed.error, { message: `m${seen}`, remedy: `r${seen}` });
  const { texts } = announcements(undefined, failed, 0, completeStrings());
  assert.equal(texts.join(" ").includes("\u3164") || !texts.join(" ").includes(seen), false);
});

test("a tool is shown with its source, in the words of the app", () => {
  const { tool } = completeStrings();
  const names = [["list"], ["notes-read_file", "notes"], ["read_file", "notes"], ["notes", "notes"]];
  assert.deepEqual(names.map((name) => tool(...name)), ["list", "read_file (notes)", "read_file (notes)", "notes (notes)"]);
  const asked = after([{ type: "approval-requested", id: "1", tool: "notes-read_file", source: "notes", arguments: {}, expiresInMs: 1 }]);
  const texts = (strings) => announcements(createTurn("?", "?"), asked, 0, completeStrings(strings)).texts;
  assert.deepEqual(texts(), ["May the AI use read_file (notes)?", "It is not a tool of this page, but of “notes”."]);
  assert.deepEqual(texts({ tool: (name, source) => `${source}: ${name}`, sourceTool: (source) => source }), ["May the AI use notes: notes-read_file?", "notes"]);
});

test("reports of other agents are shown if they are text", () => {
  const turn = after([{ type: "progress", content: "half" }, { type: "progress", content: { percent: 50 } }, { type: "usage" }]);
  assert.deepEqual(turn.blocks, [{ kind: "note", text: "half" }]);
});

test("whole sentences are announced once, without markdown syntax", () => {
  const strings = completeStrings();
  let [turn, spoken, all] = [undefined, 0, []];
  const next = (after) => {
    const { texts, ...rest } = announcements(turn, after, spoken, strings);
    all.push(...texts);
    [turn, spoken] = [after, rest.spoken];
  };
  next(createTurn("?", "?"));
  for (const piece of ["1. The ", "first item is late. And", " the second one is not.\n", "Last"]) next(applyEvent(turn, text(piece)));
  next(completeTurn(turn, { toolCalls: [] }));
  assert.deepEqual(all, ["Waiting for the agent", "1. The first item is late.", "And the second one is not.", "Last"]);
  assert.equal(plainText("# A\n- **b** `c_d` _e_ [f](g) ![h](i)\n```js\nlet j;\n```\n~~k~~"), "A b c_d e f h let j; k");
});

test("a failure has a text for the person, with its own advice first", () => {
  assert.equal(failureText({ code: "ModelRefused", message: "no" }), "The model declined to answer. Ask in other words.");
  assert.equal(failureText({ code: "AgentUnavailable", message: "m", remedy: "start the agent" }), "The agent does not answer. Start the agent.");
  assert.equal(
    failureText({ code: "ModelInputTooLong", message: "m" }),
    "The conversation is too long for the model. Begin a new one, or ask for less.",
  );
  assert.equal(
    failureText({ code: "ModelAnswerInvalid", message: "m" }),
    "The model’s answer does not have the form that was asked for. Try again.",
  );
  assert.equal(
    failureText({ code: "RequestTooLarge", message: "m" }),
    "The question is larger than the agent takes. Ask for less at a time.",
  );
  assert.equal(failureText({ code: "constructor", message: "m" }), "The question was not answered. Try again.");
  const { failure } = completeStrings({ failure: ({ code }) => (code === "Disconnected" ? "Nicht verbunden." : undefined) });
  assert.equal(failure({ code: "Disconnected", message: "m" }), "Nicht verbunden.");
  assert.equal(failure({ code: "AgentFailed", message: "m" }), "The agent has failed. Try again.");
});

const stored = new Map();

beforeEach(() => {
  stored.clear();
  globalThis.sessionStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  };
});

test("a conversation is stored until it is empty, and foreign stored data is ignored", () => {
  const turns = [createTurn("One", "1")];
  storeConversation("box", { id: "c", turns });
  assert.deepEqual(loadConversation("box"), { id: "c", turns: JSON.parse(JSON.stringify(turns)) });
  storeConversation("box", { turns: [] });
  assert.equal(stored.size, 0);
  for (const other of [null, "{", "7", "{}", '{"turns":{}}', '{"turns":[7,{"label":"x"}]}']) {
    if (other) stored.set("mcp-web:ask:box", other);
    assert.deepEqual(loadConversation("box"), { turns: [] }, other);
  }
});

test("the oldest turns of a conversation that is too large are not stored", () => {
  const large = { ...createTurn("?", "?"), blocks: [{ kind: "text", text: "x".repeat(MAX_STORED_CHARS / 3) }] };
  storeConversation("box", { turns: [{ ...large, label: "old" }, large, { ...large, label: "new" }] });
  assert.deepEqual(loadConversation("box").turns.map(({ label }) => label), ["?", "new"]);
  assert.ok(stored.get("mcp-web:ask:box").length <= MAX_STORED_CHARS);
});

test("a single turn that is too large is stored without its answer, and each turn is serialised once", () => {
  let serialised = 0;
  const counted = (turn) => ({ ...turn, toJSON: () => (serialised++, turn) });
  const large = { ...createTurn("large", "?"), state: "complete", blocks: [{ kind: "text", text: "x".repeat(MAX_STORED_CHARS) }] };
  storeConversation("box", { id: "c", turns: [large, counted(createTurn("One", "?")), counted(createTurn("Two", "?"))] });
  assert.deepEqual([loadConversation("box").turns.map(({ label }) => label), serialised], [["One", "Two"], 2]);
  storeConversation("box", { id: "c", turns: [createTurn("One", "?"), large] });
  assert.deepEqual(loadConversation("box"), { id: "c", turns: [{ ...large, blocks: [] }] });
  storeConversation("box", { id: "c", turns: [createTurn("?", "x".repeat(MAX_STORED_CHARS))] });
  assert.deepEqual(loadConversation("box"), { id: "c", turns: [] });
  const small = createTurn("?", "");
  const { length } = JSON.stringify({ id: "c", turns: [small, small] });
  for (const [more, count] of [[0, 2], [1, 1]]) {
    storeConversation("box", { id: "c", turns: [createTurn("?", "x".repeat(MAX_STORED_CHARS - length - 1 + more)), small] });
    const json = stored.get("mcp-web:ask:box");
    assert.deepEqual([loadConversation("box").turns.length, json.length <= MAX_STORED_CHARS], [count, true]);
  }
});

test("a page without storage works", () => {
  globalThis.sessionStorage = undefined;
  storeConversation("box", { turns: [createTurn("?", "?")] });
  assert.deepEqual(loadConversation("box"), { turns: [] });
});

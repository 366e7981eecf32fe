import assert from "node:assert/strict";
import { test } from "node:test";

import { answered, asked, cancelled, failed, heard, isOver } from "../../page/js/asking.js";
import { explained } from "../../page/js/ask-failures.js";
import { spoken } from "../../page/js/ask-words.js";

const START = new Date("2026-03-10T12:00:00Z");
const LATER = new Date("2026-03-10T12:00:02Z");
const question = () => asked({ title: "Plan my day" }, START);
const after = (events, from = question()) => events.reduce(heard, from);

const started = (id, tool) => ({ type: "tool-started", id, tool, arguments: {} });
const finished = (id, tool, error) => ({ type: "tool-finished", id, tool, isError: error !== undefined, error });

test("pieces of text are one text until something else comes", () => {
  const { blocks, state } = after([
    { type: "text", text: "Two cards " },
    { type: "text", text: "are late." },
    started("1", "list_cards"),
    { type: "note", text: "the model is busy: trying again in 3 s" },
    { type: "text", text: "Done." },
  ]);
  assert.equal(state, "running");
  assert.deepEqual(blocks.map(({ kind, text }) => text ?? kind), ["Two cards are late.", "calls", "the model is busy: trying again in 3 s", "Done."]);
});

test("tools side by side stand in one row, each with how it went", () => {
  const { blocks } = after([
    started("1", "list_cards"),
    started("2", "move_card"),
    finished("2", "move_card", "no card c9: list_cards shows the ids"),
    finished("1", "list_cards"),
    { type: "text", text: "So." },
    started("3", "add_card"),
  ]);
  assert.deepEqual(blocks.map((block) => block.calls?.map(({ tool, state }) => `${tool} ${state}`)), [
    ["list_cards done", "move_card failed"],
    undefined,
    ["add_card running"],
  ]);
  assert.equal(blocks[0].calls[1].error, "no card c9: list_cards shows the ids");
});

test("of what another agent sends, words are shown", () => {
  const progress = [{ percent: 4 }, null, "Reading the cards"].map((content) => ({ type: "progress", content }));
  assert.deepEqual(after([...progress, { type: "picture" }]).blocks, [{ kind: "note", text: "Reading the cards" }]);
});

test("an answer that was streamed is not shown twice, and one that was not is shown", () => {
  const streamed = after([{ type: "text", text: "All " }, { type: "text", text: "is well." }]);
  assert.equal(answered(streamed, { text: "All is well.", toolCalls: [] }, undefined, LATER).blocks.length, 1);
  const silent = answered(question(), { value: "All is well.", toolCalls: [] }, undefined, LATER);
  assert.deepEqual(silent.blocks, [{ kind: "text", text: "All is well." }]);
  assert.equal(silent.durationMs, 2000);
});

test("a tool whose end nobody heard of has completed its question, or is cancelled with it", () => {
  const running = after([started("1", "list_cards")]);
  assert.ok(!isOver(running));
  const over = cancelled(running, LATER);
  assert.ok(isOver(over));
  assert.equal(over.blocks[0].calls[0].state, "cancelled");
  assert.equal(answered(running, {}, undefined, LATER).blocks[0].calls[0].state, "done");
  assert.equal(running.blocks[0].calls[0].state, "running", "what was before stays as it was");
});

test("the call that completes a question is shown, also when nobody heard that it has begun", () => {
  const toolCalls = [{ tool: "arrange_day", arguments: { today: ["c1"] }, result: {} }];
  const result = { response: { arguments: toolCalls[0].arguments, result: {} }, toolCalls };
  const chips = (from) => answered(from, result, undefined, LATER).blocks.flatMap(({ calls }) => calls.map(({ tool, state }) => `${tool} ${state}`));
  assert.deepEqual(chips(question()), ["arrange_day done"]);
  assert.deepEqual(chips(after([started("1", "arrange_day")])), ["arrange_day done"]);
});

test("a failure is explained by its code, with the remedy that came along", () => {
  const error = { code: "ModelUnauthorized", message: "the provider answers 401: check ANTHROPIC_API_KEY", remedy: "check ANTHROPIC_API_KEY" };
  assert.deepEqual(explained(failed(question(), error, LATER).error), {
    meaning: "The model’s provider does not accept the key",
    advice: "Check ANTHROPIC_API_KEY.",
    detail: "the provider answers 401 (ModelUnauthorized)",
  });
  assert.equal(explained({ message: "odd" }).advice, "Ask again.");
  const switchedOff = explained({ code: "ToolNotFound", message: "the page has no tool", remedy: "add it before" });
  assert.match(switchedOff.advice, /On offer/);
});

test("a screen reader hears the steps as they come and the answer when it is whole", () => {
  const before = question();
  assert.equal(spoken(undefined, before), "Asked: Plan my day");
  const calling = after([started("1", "list_cards"), started("2", "move_card")], before);
  assert.equal(spoken(before, calling), "Calling list_cards. Calling move_card");
  const telling = after([finished("1", "list_cards"), finished("2", "move_card", "no card c9"), { type: "text", text: "Well" }], calling);
  assert.equal(spoken(calling, telling), "list_cards finished. move_card failed: no card c9");
  assert.equal(spoken(telling, after([{ type: "text", text: " then." }], telling)), "");
  const plan = { today: ["Redraw the map"], reason: "It is due." };
  assert.equal(spoken(telling, answered(telling, {}, plan, LATER)), "Answer: It is due. Today: Redraw the map");
});

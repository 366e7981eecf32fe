import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyBoard } from "../../page/js/board.js";
import { BoardStore } from "../../page/js/store.js";
import { boardTools } from "../../page/js/tools.js";

const CLIENT = { name: "tester", title: "Test client" };

/** The tools of an empty board, called as the SDK calls them. */
function tools() {
  const store = new BoardStore(emptyBoard());
  const definitions = new Map(boardTools(store).map((tool) => [tool.name, tool]));
  const call = (name, input, context) => definitions.get(name).handler(input, { client: CLIENT, ...context });
  return { store, definitions, call };
}

test("every schema is closed and every field is described", () => {
  for (const { name, inputSchema, outputSchema } of tools().definitions.values()) {
    assert.equal(inputSchema.additionalProperties, false, name);
    assert.equal(outputSchema?.additionalProperties ?? false, false, name);
    for (const [field, schema] of Object.entries(inputSchema.properties)) {
      assert.ok(schema.description, `${name}.${field} has no description`);
    }
  }
});

test("every tool has all four hints", () => {
  const hints = [...tools().definitions.values()].map(({ name, annotations }) => [
    name,
    annotations.readOnlyHint,
    annotations.destructiveHint,
    annotations.idempotentHint,
    annotations.openWorldHint,
  ]);
  assert.deepEqual(hints, [
    ["list_cards", true, false, true, false],
    ["add_card", false, false, false, false],
    ["move_card", false, false, true, false],
    ["update_card", false, true, true, false],
    ["remove_card", false, true, false, false],
    ["summarise_board", true, false, true, false],
    ["draw_board", true, false, true, false],
    ["arrange_day", false, false, true, false],
    ["schedule_cards", false, false, true, false],
    ["clear_done", false, true, true, false],
  ]);
});

test("a card is added, found, moved, changed and removed", () => {
  const { call } = tools();
  call("add_card", { title: "first", column: "done" });
  const { card } = call("add_card", { title: "second", label: "print" });
  assert.deepEqual(card, { id: "c2", column: "todo", title: "second", label: "print" });
  assert.deepEqual(call("list_cards", { label: "print" }).cards, [card]);
  call("move_card", { id: "c2", column: "done", position: 1 });
  assert.deepEqual(call("list_cards", { column: "done" }).cards.map(({ id }) => id), ["c2", "c1"]);
  const changed = call("update_card", { id: "c2", label: "", note: "soon" }).card;
  assert.deepEqual(changed, { id: "c2", column: "done", title: "second", note: "soon" });
  assert.deepEqual(call("remove_card", { id: "c2" }).removed, changed);
  assert.equal(call("summarise_board", {}).total, 1);
});

test("a change has the client that made it", () => {
  const { store, call } = tools();
  const changes = [];
  store.subscribe((change) => changes.push(change));
  call("add_card", { title: "mine" });
  assert.deepEqual(changes.map(({ kind, actor }) => [kind, actor]), [
    ["added", { kind: "client", name: "Test client" }],
  ]);
});

test("a rejected change has no effect", () => {
  const { store, call } = tools();
  call("add_card", { title: "only" });
  const before = store.board;
  assert.throws(() => call("remove_card", { id: "c7" }), { message: /list_cards shows the ids/ });
  assert.equal(store.board, before);
});

test("scheduling reports progress, and stops when the call is cancelled", async () => {
  const { store, call } = tools();
  for (const title of ["one", "two", "three"]) call("add_card", { title });
  const cancel = new AbortController();
  const steps = [];
  const progress = (done, total, message) => {
    steps.push([done, total, message.split(":")[0]]);
    if (done === 2) cancel.abort(new Error("cancelled"));
  };
  const context = { signal: cancel.signal, progress, log: () => {} };
  await assert.rejects(call("schedule_cards", { days_between: 3 }, context), { message: "cancelled" });
  assert.deepEqual(steps, [[1, 3, "one"], [2, 3, "two"]]);
  assert.deepEqual(store.board.cards.map(({ due }) => due !== ""), [true, true, false]);
});

test("only the finished cards that the person selects are removed", async () => {
  const { store, call } = tools();
  for (const title of ["keep", "drop"]) call("add_card", { title, column: "done" });
  const asked = [];
  const answering = (answer) => ({ elicit: async (question) => (asked.push(question), answer) });
  assert.deepEqual(await call("clear_done", {}, answering({ action: "decline" })), { removed: [] });
  assert.equal(store.board.cards.length, 2);
  const ticked = { action: "accept", content: { c1: false, c2: true } };
  assert.deepEqual((await call("clear_done", {}, answering(ticked))).removed.map(({ title }) => title), ["drop"]);
  assert.deepEqual(store.board.cards.map(({ title }) => title), ["keep"]);
  assert.deepEqual(Object.keys(asked[0].schema.properties), ["c1", "c2"]);
});

test("an empty column asks no question", async () => {
  const elicit = () => assert.fail("nobody is asked");
  assert.deepEqual(await tools().call("clear_done", {}, { elicit }), { removed: [] });
});

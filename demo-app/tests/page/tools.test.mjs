import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyBoard } from "../../page/js/board.js";
import { BoardStore } from "../../page/js/store.js";
import { boardTools } from "../../page/js/tools.js";

const CLIENT = { name: "tester", title: "Test client" };

/** The tools over an empty board, called as the SDK calls them. */
function tools() {
  const store = new BoardStore(emptyBoard());
  const definitions = new Map(boardTools(store).map((tool) => [tool.name, tool]));
  const call = (name, input) => definitions.get(name).handler(input, { client: CLIENT });
  return { store, definitions, call };
}

test("every schema is closed and every field is described", () => {
  for (const { name, inputSchema, outputSchema } of tools().definitions.values()) {
    assert.equal(inputSchema.additionalProperties, false, name);
    assert.equal(outputSchema.additionalProperties, false, name);
    for (const [field, schema] of Object.entries(inputSchema.properties)) {
      assert.ok(schema.description, `${name}.${field} has no description`);
    }
  }
});

test("reading tools say so, and so do those that destroy", () => {
  const hints = [...tools().definitions.values()].map(({ name, annotations }) => [
    name,
    annotations.readOnlyHint ?? false,
    annotations.destructiveHint ?? false,
  ]);
  assert.deepEqual(hints, [
    ["list_cards", true, false],
    ["add_card", false, false],
    ["move_card", false, false],
    ["update_card", false, true],
    ["remove_card", false, true],
    ["summarise_board", true, false],
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

test("a change names the client that made it", () => {
  const { store, call } = tools();
  const changes = [];
  store.subscribe((change) => changes.push(change));
  call("add_card", { title: "mine" });
  assert.deepEqual(changes.map(({ kind, actor }) => [kind, actor]), [
    ["added", { kind: "client", name: "Test client" }],
  ]);
});

test("a change that is refused changes nothing", () => {
  const { store, call } = tools();
  call("add_card", { title: "only" });
  const before = store.board;
  assert.throws(() => call("remove_card", { id: "c7" }), { message: /list_cards shows the ids/ });
  assert.equal(store.board, before);
});

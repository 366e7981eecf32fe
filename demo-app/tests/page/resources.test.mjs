import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyBoard } from "../../page/js/board.js";
import { boardPrompts } from "../../page/js/prompts.js";
import { announceChanges, boardResources } from "../../page/js/resources.js";
import { BoardStore, PERSON } from "../../page/js/store.js";

function board() {
  const store = new BoardStore(emptyBoard());
  store.add({ title: "Redraw the map", label: "pictures" }, PERSON);
  store.add({ title: "Proofread", label: "words", column: "done" }, PERSON);
  return store;
}

test("the board and each card can be read", () => {
  const { board: all, card } = boardResources(board());
  assert.deepEqual(all.read().cards.map(({ id }) => id), ["c1", "c2"]);
  const read = card.read(new URL("board://cards/c1"), { id: "c1" });
  assert.deepEqual(read, { id: "c1", column: "todo", title: "Redraw the map", label: "pictures" });
});

test("a missing card is a resource that is not found", () => {
  const { card } = boardResources(board());
  const read = () => card.read(new URL("board://cards/c9"), { id: "c9" });
  assert.throws(read, { code: "ResourceNotFound", message: /list_cards shows the ids/ });
});

test("ids are completed by their beginning, or by the card's title and label", () => {
  const { complete } = boardResources(board()).card;
  assert.deepEqual(complete.id("c"), ["c1", "c2"]);
  assert.deepEqual(complete.id("MAP"), ["c1"]);
  assert.deepEqual(complete.id("words"), ["c2"]);
});

test("a change notifies the board and its card, if they are registered", () => {
  const store = board();
  const notified = [];
  const handles = new Map([
    ["board://cards", { notifyUpdated: () => notified.push("board") }],
    ["board://cards/{id}", { notifyUpdated: (uri) => notified.push(uri) }],
  ]);
  announceChanges(store, { handle: (name) => handles.get(name) });
  store.move("c1", "doing", 0, PERSON);
  handles.delete("board://cards/{id}");
  store.replace(emptyBoard());
  assert.deepEqual(notified, ["board", "board://cards/c1", "board"]);
});

test("the day is planned with the open cards of one label", () => {
  const [prompt] = boardPrompts(board());
  const { messages } = prompt.get({ label: "pictures", hours: "3" });
  assert.match(messages[0], /I have 3 hours/);
  assert.equal(messages[1], "c1 [todo, pictures] Redraw the map");
  assert.equal(prompt.get({ label: "words" }).messages[1], "There are no open cards.");
  assert.deepEqual(prompt.arguments[0].complete("p"), ["pictures", "print", "post"]);
});

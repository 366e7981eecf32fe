import assert from "node:assert/strict";
import { test } from "node:test";

import * as boards from "../../page/js/board.js";

const TODAY = "2026-03-10";

/** A board with the columns given as titles: `{ todo: ["a", "b"] }`. */
function boardOf(columns) {
  const fields = Object.entries(columns).flatMap(([column, titles]) =>
    titles.map((title) => ({ column, title })),
  );
  return fields.reduce((board, card) => boards.addCard(board, card).board, boards.emptyBoard());
}

const titlesIn = (board, column) => boards.cardsIn(board, column).map((card) => card.title);

test("a card moves to the end of a column, or to a place in it", () => {
  const board = boardOf({ todo: ["a", "b", "c"], done: ["d", "e"] });
  assert.deepEqual(titlesIn(boards.moveCard(board, "c1", "done").board, "done"), ["d", "e", "a"]);
  assert.deepEqual(titlesIn(boards.moveCard(board, "c1", "done", 1).board, "done"), ["d", "a", "e"]);
  assert.deepEqual(titlesIn(boards.moveCard(board, "c1", "done", 99).board, "done"), ["d", "e", "a"]);
  assert.deepEqual(titlesIn(boards.moveCard(board, "c1", "todo", 1).board, "todo"), ["b", "a", "c"]);
  assert.deepEqual(titlesIn(boards.moveCard(board, "c3", "todo", 0).board, "todo"), ["c", "a", "b"]);
});

test("a removed card is restored at its position, once", () => {
  const board = boardOf({ todo: ["a", "b", "c"] });
  const removed = boards.removeCard(board, "c2");
  assert.deepEqual(titlesIn(removed.board, "todo"), ["a", "c"]);
  const restored = boards.restoreCard(removed.board, removed.card, removed.position).board;
  assert.deepEqual(titlesIn(restored, "todo"), ["a", "b", "c"]);
  const again = boards.restoreCard(restored, removed.card, removed.position).board;
  assert.deepEqual(titlesIn(again, "todo"), ["a", "b", "c"]);
});

test("an id is never reused", () => {
  const board = boards.removeCard(boardOf({ todo: ["a", "b"] }), "c2").board;
  assert.equal(boards.addCard(board, { title: "c" }).card.id, "c3");
});

test("an update changes the given fields only", () => {
  const { board } = boards.addCard(boards.emptyBoard(), { title: "a", note: "n", label: "print" });
  const { card } = boards.updateCard(board, "c1", { label: "", due: "2026-03-11" });
  assert.deepEqual(card, { id: "c1", column: "todo", title: "a", note: "n", label: "", due: "2026-03-11" });
});

test("errors say what to do", () => {
  const board = boardOf({ todo: ["a"] });
  const refused = (action, words) => assert.throws(action, { name: "BoardError", message: words });
  refused(() => boards.moveCard(board, "c9", "done"), "no card c9: list_cards shows the ids");
  refused(() => boards.moveCard(board, "c1", "later"), /use one of todo, doing, done/);
  refused(() => boards.addCard(board, { title: "  " }), /give it one/);
  refused(() => boards.addCard(board, { title: "x".repeat(121) }), /shorten it to 120/);
  refused(() => boards.updateCard(board, "c1", { due: "2026-02-30" }), /YYYY-MM-DD/);
  refused(() => boards.updateCard(board, "c1", {}), /give a new title, note, label or due date/);
  refused(() => boards.updateCard(board, "c1", { label: "urgent" }), /use one of words/);
});

test("a summary has counts, the overdue cards and the next due date", () => {
  const dated = [
    { title: "late", due: "2026-03-09", label: "words" },
    { title: "next", due: "2026-03-10", column: "doing" },
    { title: "later", due: "2026-04-01" },
    { title: "late but done", due: "2026-03-01", column: "done" },
  ];
  const board = dated.reduce((sum, card) => boards.addCard(sum, card).board, boards.emptyBoard());
  const summary = boards.summarise(board, TODAY);
  assert.equal(summary.total, 4);
  assert.deepEqual(summary.columns, { todo: 2, doing: 1, done: 1 });
  assert.deepEqual(summary.labels, { words: 1, pictures: 0, print: 0, post: 0 });
  assert.deepEqual(summary.overdue.map((card) => card.title), ["late"]);
  assert.equal(summary.nextDue.title, "next");
});

test("only a valid stored board is loaded", () => {
  const board = boardOf({ todo: ["a"], done: ["b"] });
  assert.deepEqual(boards.parseBoard(JSON.stringify(board)), board);
  for (const text of ["", "null", "{}", '{"cards":[{}],"lastNumber":1}', '{"cards":[]}']) {
    assert.equal(boards.parseBoard(text), undefined, text);
  }
});

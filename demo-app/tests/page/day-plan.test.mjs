import assert from "node:assert/strict";
import { test } from "node:test";

import { failureText } from "../../page/js/ask-failures.js";
import { dayPlanText, planFor, summaryOf } from "../../page/js/ask-questions.js";
import { addCard, cardsIn, emptyBoard } from "../../page/js/board.js";
import { mostUrgent, movesFor } from "../../page/js/day-plan.js";
import { arrangeDay } from "../../page/js/plan-tool.js";
import { BoardStore } from "../../page/js/store.js";

const NOW = new Date(2026, 2, 10, 12);
const CARDS = [
  { title: "someday" },
  { title: "next week", due: "2026-03-17" },
  { title: "under way", column: "doing" },
  { title: "late", column: "doing", due: "2026-03-09" },
  { title: "finished", column: "done", due: "2026-03-01" },
];

const board = () => CARDS.reduce((it, card) => addCard(it, card).board, emptyBoard());
const titles = (store, column) => cardsIn(store.board, column).map(({ title }) => title);
const arrange = (store, input) => arrangeDay(store).handler(input, { client: { name: "tester" } });

test("the cards for today come first, and cards in progress move back", () => {
  const store = new BoardStore(board());
  const { today } = arrange(store, { today: ["c4", "c2"], reason: "late first" });
  assert.deepEqual(titles(store, "doing"), ["late", "next week"]);
  assert.deepEqual(titles(store, "todo"), ["under way", "someday"]);
  assert.deepEqual(today.map(({ title }) => title), ["late", "next week"]);
});

test("a board that is already arranged is not changed", () => {
  const store = new BoardStore(board());
  arrange(store, { today: ["c4", "c2"] });
  assert.deepEqual(movesFor(store.board, ["c4", "c2"]), []);
});

test("unknown and finished cards are rejected before any card moves", () => {
  const store = new BoardStore(board());
  assert.throws(() => arrange(store, { today: ["c2", "c9"] }), /no card c9: list_cards/);
  assert.throws(() => arrange(store, { today: ["c2", "c5"] }), /c5 is done already/);
  assert.deepEqual(titles(store, "doing"), ["under way", "late"]);
});

test("due cards come first, then cards in progress", () => {
  assert.deepEqual(mostUrgent(board()), ["c4", "c2", "c3"]);
});

test("without a language model, the page writes lines that execute the plan", () => {
  const { prompt, options } = planFor(board(), NOW, { languageModel: false });
  assert.equal(options.responseTool, "arrange_day");
  const [rounds, plan] = prompt.split("\n\n");
  assert.deepEqual(rounds.split("\n"), ["/list_cards {}", "/summarise_board {}"]);
  const store = new BoardStore(board());
  arrange(store, JSON.parse(plan.replace("/arrange_day ", "")));
  assert.deepEqual(titles(store, "doing"), ["late", "next week", "under way"]);
});

test("for a summary, a language model gets the board, today's date and only tools that read", () => {
  const { prompt, options } = summaryOf(board(), NOW, { languageModel: true });
  assert.match(prompt, /^Summarise the board/);
  const [given, today] = options.context;
  assert.deepEqual([given.name, given.value.cards.length], ["board", CARDS.length]);
  assert.deepEqual([today.name, today.value], ["today", "2026-03-10"]);
  assert.deepEqual([options.tools, options.restrictTools], [["list_cards", "summarise_board"], true]);
});

test("a plan is shown as its reason and the titles of its cards", () => {
  const response = { arguments: { today: ["c4"], reason: "Late first." }, result: { today: [{ title: "late" }, { title: "next week" }] } };
  assert.equal(dayPlanText({ response }), "Late first.\n\n1. late\n2. next week");
  assert.equal(dayPlanText({ response: { ...response, arguments: {} } }), "1. late\n2. next week");
  assert.equal(dayPlanText({ text: "Hello" }), undefined);
});

test("the page shows its own advice where it is better than the SDK's", () => {
  assert.match(failureText({ code: "ToolNotFound" }), /Switch it on under “On offer”/);
  assert.equal(failureText({ code: "ModelRefused" }), undefined);
});

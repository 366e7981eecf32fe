/**
 * The board as plain data: every function takes a board and returns a new one.
 *
 * No DOM, no storage, no clock. Error messages are read by people in a dialog and by models in a tool result, so they say
 * what to do.
 *
 * @typedef {{ id: string, column: string, title: string, note: string, label: string, due: string }} Card
 *   `note`, `label` and `due` are empty strings when there is none; `due` is YYYY-MM-DD.
 * @typedef {{ cards: readonly Card[], lastNumber: number }} Board The cards of a column are in the order of the array. Ids
 * are never reused.
 */

export const COLUMNS = [
  { id: "todo", title: "To do" },
  { id: "doing", title: "In progress" },
  { id: "done", title: "Done" },
];

export const LABELS = [
  { id: "words", title: "Words" },
  { id: "pictures", title: "Pictures" },
  { id: "print", title: "Print" },
  { id: "post", title: "Post" },
];

export const MAX_TITLE = 120;
export const MAX_NOTE = 600;
export const MAX_CARDS = 500;

/** An operation that the board rejects; the message says what to do instead. */
export class BoardError extends Error {
  name = "BoardError";
}

export const emptyBoard = () => ({ cards: [], lastNumber: 0 });

export const columnTitle = (column) => titleIn(COLUMNS, column);
export const labelTitle = (label) => titleIn(LABELS, label);

export const cardsIn = (board, column) => board.cards.filter((card) => card.column === column);

/** Returns the card, or throws an error that says how to find the right id. */
export function findCard(board, id) {
  const card = board.cards.find((candidate) => candidate.id === id);
  if (!card) throw new BoardError(`no card ${id}: list_cards shows the ids`);
  return card;
}

/** Adds a new card at the end of its column ("todo" by default). */
export function addCard(board, { title, note = "", label = "", due = "", column = "todo" }) {
  if (board.cards.length >= MAX_CARDS) {
    throw new BoardError(`the board is full (${MAX_CARDS} cards): remove some first`);
  }
  const lastNumber = board.lastNumber + 1;
  const card = checked({ id: `c${lastNumber}`, column, title, note, label, due });
  return { board: { cards: [...board.cards, card], lastNumber }, card };
}

/**
 * Moves a card to a column.
 *
 * @param {number} [position] the position in the column, from 0; the end if absent or too large
 */
export function moveCard(board, id, column, position = Infinity) {
  const card = checked({ ...findCard(board, id), column });
  const others = board.cards.filter((other) => other.id !== id);
  return { board: { ...board, cards: insertAt(others, card, position) }, card };
}

/** Changes the given fields and leaves the others unchanged. */
export function updateCard(board, id, changes) {
  if (Object.keys(defined(changes)).length === 0) {
    throw new BoardError("nothing to change: give a new title, note, label or due date");
  }
  const card = checked({ ...findCard(board, id), ...defined(changes) });
  const cards = board.cards.map((other) => (other.id === id ? card : other));
  return { board: { ...board, cards }, card };
}

/** Removes a card; `position` is where `restoreCard` can put it back. */
export function removeCard(board, id) {
  const card = findCard(board, id);
  const position = cardsIn(board, card.column).indexOf(card);
  const cards = board.cards.filter((other) => other.id !== id);
  return { board: { ...board, cards }, card, position };
}

/** Undoes `removeCard`. */
export function restoreCard(board, card, position) {
  if (board.cards.some((other) => other.id === card.id)) return { board, card };
  return { board: { ...board, cards: insertAt(board.cards, card, position) }, card };
}

/** @param {string} today YYYY-MM-DD */
export const isOverdue = (card, today) =>
  card.due !== "" && card.due < today && card.column !== "done";

/** Returns statistics of the board. @param {string} today YYYY-MM-DD */
export function summarise(board, today) {
  const open = board.cards.filter((card) => card.column !== "done");
  const dated = open.filter((card) => card.due !== "").sort((a, b) => (a.due < b.due ? -1 : 1));
  return {
    total: board.cards.length,
    columns: countBy(COLUMNS, board.cards, "column"),
    labels: countBy(LABELS, board.cards, "label"),
    overdue: dated.filter((card) => isOverdue(card, today)),
    nextDue: dated.find((card) => card.due >= today),
  };
}

/** Parses a board from storage; returns nothing if the text is not a board. */
export function parseBoard(text) {
  try {
    const { cards, lastNumber } = JSON.parse(text);
    if (!Number.isSafeInteger(lastNumber)) return undefined;
    return { cards: cards.map(checked), lastNumber };
  } catch {
    return undefined;
  }
}

function checked({ id, column, title, note, label, due }) {
  const card = { id, column, title: title.trim(), note: note.trim(), label, due };
  if (card.title === "") throw new BoardError("a card needs a title: give it one");
  atMost(card.title, MAX_TITLE, "title");
  atMost(card.note, MAX_NOTE, "note");
  oneOf(COLUMNS, column, "column");
  if (label !== "") oneOf(LABELS, label, "label");
  if (due !== "" && !isDate(due)) {
    throw new BoardError(`"${due}" is not a date: write the due date as YYYY-MM-DD`);
  }
  return card;
}

function atMost(text, limit, field) {
  if (text.length > limit) {
    throw new BoardError(`the ${field} has ${text.length} characters: shorten it to ${limit}`);
  }
}

function oneOf(options, id, field) {
  if (options.some((option) => option.id === id)) return;
  const allowed = options.map((option) => option.id).join(", ");
  throw new BoardError(`there is no ${field} "${id}": use one of ${allowed}`);
}

function isDate(text) {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function insertAt(cards, card, position) {
  const followers = cards.filter((other) => other.column === card.column);
  const next = followers[Math.max(0, position)];
  const index = next ? cards.indexOf(next) : cards.length;
  return cards.toSpliced(index, 0, card);
}

const titleIn = (options, id) => options.find((option) => option.id === id)?.title ?? "";

const defined = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const countBy = (options, cards, field) =>
  Object.fromEntries(
    options.map(({ id }) => [id, cards.filter((card) => card[field] === id).length]),
  );

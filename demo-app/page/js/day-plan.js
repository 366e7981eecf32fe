/** A plan for today: which cards, in which order, and the moves that arrange the board like that. */

import { BoardError, cardsIn, findCard, moveCard } from "./board.js";

/** A longer list is not a plan. */
export const MAX_TODAY = 6;

/** The number of cards that the page itself would choose. */
const USUAL = 3;

/**
 * The moves after which `today` is at the top of "In progress" in that order, and the cards that were in "In progress" are
 * at the top of "To do".
 *
 * @param {import("./board.js").Board} board
 * @param {readonly string[]} today ids of cards
 * @returns {{ id: string, column: string, position: number }[]}
 */
export function movesFor(board, today) {
  for (const id of today) refuseDone(findCard(board, id));
  const left = cardsIn(board, "doing").filter(({ id }) => !today.includes(id)).reverse();
  const wanted = [
    ...left.map(({ id }) => ({ id, column: "todo", position: 0 })),
    ...today.map((id, position) => ({ id, column: "doing", position })),
  ];
  const moves = [];
  let after = board;
  for (const move of wanted) {
    if (isThere(after, move)) continue;
    after = moveCard(after, move.id, move.column, move.position).board;
    moves.push(move);
  }
  return moves;
}

/** The most urgent cards: first by due date, then those in progress. @returns {string[]} ids */
export function mostUrgent(board) {
  const open = board.cards.filter(({ column }) => column !== "done");
  const inOrder = open.toSorted((a, b) => rank(a).localeCompare(rank(b)));
  return inOrder.slice(0, USUAL).map(({ id }) => id);
}

/** Cards without a date sort after all dates. */
const rank = ({ due, column }) => due || (column === "doing" ? "9999-1" : "9999-2");

const isThere = (board, { id, column, position }) => cardsIn(board, column)[position]?.id === id;

function refuseDone({ id, column }) {
  if (column === "done") throw new BoardError(`${id} is done already: plan only open cards`);
}

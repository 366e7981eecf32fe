/** Descriptions of the board and of the clients, as clients read them. */

import { columnTitle, isOverdue, summarise } from "./board.js";

/** A card without its empty fields. */
export const described = (card) =>
  Object.fromEntries(Object.entries(card).filter(([, value]) => value !== ""));

/** Statistics of the board, in the shape of `schemas.summary`. @param {string} today YYYY-MM-DD */
export function summary(board, today) {
  const { overdue, nextDue, ...figures } = summarise(board, today);
  return {
    today,
    ...figures,
    overdue: overdue.map(described),
    ...(nextDue && { nextDue: described(nextDue) }),
  };
}

/** The board in a sentence or two, for a client that shows text only. */
export function summaryText({ total, columns, overdue, nextDue }) {
  const parts = Object.entries(columns).map(([column, count]) => `${count} ${columnTitle(column).toLowerCase()}`);
  const late = overdue.map(({ id, title }) => `${id} “${title}”`).join(", ");
  return [
    `${total} cards: ${parts.join(", ")}.`,
    late && `Overdue: ${late}.`,
    nextDue && `Next due: ${nextDue.id} “${nextDue.title}” on ${nextDue.due}.`,
  ].filter(Boolean).join(" ");
}

/** A card as one line: `c3 [doing, print, due 2026-03-12, overdue] Order stock`. */
export function cardLine(card, today) {
  const facts = [card.column, card.label, card.due && `due ${card.due}`, isOverdue(card, today) && "overdue"];
  return `${card.id} [${facts.filter(Boolean).join(", ")}] ${card.title}`;
}

/** The actor of a change, from a call's `client`. @returns {import("./store.js").Actor} */
export const actorOf = (client) => ({ kind: "client", name: client?.title ?? client?.name ?? "an AI client" });

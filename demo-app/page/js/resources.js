/** Resources that clients can read without calling a tool: the whole board, and each card. */

import { findCard, labelTitle } from "./board.js";
import { described } from "./described.js";

const BOARD = "board://cards";
const CARD = `${BOARD}/{id}`;

/** Definitions for `mcpWeb.addResource` and `mcpWeb.addResourceTemplate`. @param {import("./store.js").BoardStore} store */
export function boardResources(store) {
  return {
    board: {
      uri: BOARD,
      name: "cards",
      title: "All cards",
      description: "Every card on the board, column by column, top to bottom.",
      mimeType: "application/json",
      annotations: { audience: ["assistant"], priority: 0.8 },
      read: () => ({ cards: store.board.cards.map(described) }),
    },
    card: {
      uriTemplate: CARD,
      name: "card",
      title: "One card",
      description: "A single card, by its id.",
      mimeType: "application/json",
      read: (_uri, { id }) => described(existing(store.board, id)),
      complete: { id: (start) => idsLike(store.board, start) },
    },
  };
}

/** Notifies clients that are subscribed to the board or a card. @param panel has the items that are switched on, by name */
export function announceChanges(store, panel) {
  store.subscribe((change) => {
    panel.handle(BOARD)?.notifyUpdated();
    if (change) panel.handle(CARD)?.notifyUpdated(`${BOARD}/${change.card.id}`);
  });
}

function existing(board, id) {
  try {
    return findCard(board, id);
  } catch (error) {
    throw Object.assign(error, { code: "ResourceNotFound" });
  }
}

/** Ids that begin with the typed text, or whose card has it in its title or label. */
function idsLike(board, start) {
  const wanted = start.toLowerCase();
  return board.cards
    .filter(({ id, title, label }) => id.startsWith(wanted) || `${title} ${labelTitle(label)}`.toLowerCase().includes(wanted))
    .map(({ id }) => id);
}

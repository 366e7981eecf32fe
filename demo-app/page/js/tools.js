/**
 * The tools of this page. Each handler calls the store, as the buttons do.
 *
 * Every tool declares its effects with all four hints, so that a client knows when to ask its user. An empty string clears
 * a field, because some clients cannot write `null`.
 */

import { clearDone, scheduleCards } from "./batch-tools.js";
import { actorOf, described, summary } from "./described.js";
import { isoDate } from "./dates.js";
import { READS, writes } from "./hints.js";
import { drawnBoard } from "./picture.js";
import { arrangeDay } from "./plan-tool.js";
import { card, cards, column, due, id, label, labelIds, note, object, summary as summarySchema, title } from "./schemas.js";

/**
 * @param {import("./store.js").BoardStore} store
 * @returns tool definitions for `mcpWeb.addTool`
 */
export function boardTools(store) {
  return [
    {
      name: "list_cards",
      title: "List cards",
      description: "Lists the cards on the board, top to bottom, all of them or those of one column or label.",
      inputSchema: object({
        column: { ...column, description: "Only cards of this column." },
        label: { ...label, description: "Only cards with this label." },
      }),
      outputSchema: object({ cards }, ["cards"]),
      annotations: READS,
      handler: (input) => ({ cards: matching(store.board, input).map(described) }),
    },
    {
      name: "add_card",
      title: "Add a card",
      description: "Puts a new card at the end of a column and answers with the card and its id.",
      inputSchema: object(
        {
          title,
          note,
          column: { ...column, default: "todo", description: "The column of the new card, todo by default." },
          label: { ...label, description: "Kind of work." },
          due,
        },
        ["title"],
      ),
      outputSchema: object({ card }, ["card"]),
      annotations: writes({ destructive: false, idempotent: false }),
      handler: (input, { client }) => ({ card: described(store.add(input, actorOf(client))) }),
    },
    {
      name: "move_card",
      title: "Move a card",
      description: "Moves a card to a column, to its end or to a given place.",
      inputSchema: object(
        {
          id,
          column: { ...column, description: "Where the card goes. Its own column is fine with a position." },
          position: { type: "integer", minimum: 1, description: "Place in the column, 1 is the top. The end when left out." },
        },
        ["id", "column"],
      ),
      outputSchema: object({ card }, ["card"]),
      annotations: writes({ destructive: false, idempotent: true }),
      handler: ({ id, column, position }, { client }) => {
        const place = position === undefined ? undefined : position - 1;
        return { card: described(store.move(id, column, place, actorOf(client))) };
      },
    },
    {
      name: "update_card",
      title: "Change a card",
      description: "Changes the title, note, label or due date of a card. Fields left out stay as they are.",
      inputSchema: object(
        {
          id,
          title,
          note: { ...note, description: "Details, plain text. An empty string removes the note." },
          label: { type: "string", enum: [...labelIds, ""], description: "Kind of work. An empty string removes the label." },
          due: { type: "string", pattern: "^(\\d{4}-\\d{2}-\\d{2})?$", description: "Due date, YYYY-MM-DD. An empty string removes it." },
        },
        ["id"],
      ),
      outputSchema: object({ card }, ["card"]),
      annotations: writes({ destructive: true, idempotent: true }),
      handler: ({ id, ...changes }, { client }) => ({
        card: described(store.update(id, changes, actorOf(client))),
      }),
    },
    {
      name: "remove_card",
      title: "Remove a card",
      description: "Takes a card off the board. The person at the page can undo it for a few seconds.",
      inputSchema: object({ id }, ["id"]),
      outputSchema: object({ removed: card }, ["removed"]),
      annotations: writes({ destructive: true, idempotent: false }),
      handler: ({ id }, { client }) => ({ removed: described(store.remove(id, actorOf(client))) }),
    },
    {
      name: "summarise_board",
      title: "Summarise the board",
      description: "Counts the cards by column and label and names what is overdue and what is due next.",
      inputSchema: object({}),
      outputSchema: summarySchema,
      annotations: READS,
      handler: () => summary(store.board, isoDate(new Date())),
    },
    {
      name: "draw_board",
      title: "Draw the board",
      description: "Answers with a picture of the board, for a client that can look at pictures.",
      inputSchema: object({}),
      annotations: READS,
      handler: () => drawnBoard(store.board, new Date()),
    },
    arrangeDay(store),
    scheduleCards(store),
    clearDone(store),
  ];
}

function matching(board, { column, label }) {
  return board.cards.filter(
    (card) => (!column || card.column === column) && (!label || card.label === label),
  );
}

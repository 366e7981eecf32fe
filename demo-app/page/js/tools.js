/**
 * The tools of this page. Each handler calls the store, as the buttons do.
 *
 * Schemas are for models: every field says what it means, nothing undeclared is let through.
 * An empty string clears a field: some clients cannot write `null`.
 */

import { COLUMNS, LABELS, MAX_NOTE, MAX_TITLE, summarise } from "./board.js";
import { isoDate } from "./dates.js";

const columnIds = COLUMNS.map(({ id }) => id);
const labelIds = LABELS.map(({ id }) => id);

const object = (properties, required = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const count = { type: "integer", minimum: 0 };
const counts = (ids) => object(Object.fromEntries(ids.map((id) => [id, count])), ids);

const id = { type: "string", description: "Id of the card, for example c3. list_cards shows the ids." };
const title = { type: "string", minLength: 1, maxLength: MAX_TITLE, description: "What is to be done, in a few words." };
const note = { type: "string", maxLength: MAX_NOTE, description: "Details, plain text." };
const column = { type: "string", enum: columnIds };
const label = { type: "string", enum: labelIds };
const due = { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "Due date, YYYY-MM-DD." };

const cardSchema = object(
  { id: { type: "string" }, column, title: { type: "string" }, note: { type: "string" }, label, due: { type: "string" } },
  ["id", "column", "title"],
);

const local = { openWorldHint: false };

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
      outputSchema: object({ cards: { type: "array", items: cardSchema } }, ["cards"]),
      annotations: { ...local, readOnlyHint: true },
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
          column: { ...column, default: "todo", description: "Where the card goes: todo unless told otherwise." },
          label: { ...label, description: "Kind of work." },
          due,
        },
        ["title"],
      ),
      outputSchema: object({ card: cardSchema }, ["card"]),
      annotations: { ...local, destructiveHint: false, idempotentHint: false },
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
      outputSchema: object({ card: cardSchema }, ["card"]),
      annotations: { ...local, destructiveHint: false, idempotentHint: true },
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
      outputSchema: object({ card: cardSchema }, ["card"]),
      annotations: { ...local, destructiveHint: true, idempotentHint: true },
      handler: ({ id, ...changes }, { client }) => ({
        card: described(store.update(id, changes, actorOf(client))),
      }),
    },
    {
      name: "remove_card",
      title: "Remove a card",
      description: "Takes a card off the board. The person at the page can undo it for a few seconds.",
      inputSchema: object({ id }, ["id"]),
      outputSchema: object({ removed: cardSchema }, ["removed"]),
      annotations: { ...local, destructiveHint: true, idempotentHint: false },
      handler: ({ id }, { client }) => ({ removed: described(store.remove(id, actorOf(client))) }),
    },
    {
      name: "summarise_board",
      title: "Summarise the board",
      description: "Counts the cards by column and label and names what is overdue and what is due next.",
      inputSchema: object({}),
      outputSchema: object(
        {
          today: { type: "string" },
          total: count,
          columns: counts(columnIds),
          labels: counts(labelIds),
          overdue: { type: "array", items: cardSchema },
          nextDue: cardSchema,
        },
        ["today", "total", "columns", "labels", "overdue"],
      ),
      annotations: { ...local, readOnlyHint: true },
      handler: () => summary(store.board, isoDate(new Date())),
    },
  ];
}

function matching(board, { column, label }) {
  return board.cards.filter(
    (card) => (!column || card.column === column) && (!label || card.label === label),
  );
}

function summary(board, today) {
  const { overdue, nextDue, ...figures } = summarise(board, today);
  return {
    today,
    ...figures,
    overdue: overdue.map(described),
    ...(nextDue && { nextDue: described(nextDue) }),
  };
}

/** A card without its empty fields. */
const described = (card) =>
  Object.fromEntries(Object.entries(card).filter(([, value]) => value !== ""));

const actorOf = (client) => ({ kind: "client", name: client?.title ?? client?.name ?? "an AI client" });

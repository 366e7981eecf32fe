/**
 * JSON Schemas that the tools share.
 *
 * Schemas are for models: every field has a description, and undeclared fields are rejected.
 */

import { COLUMNS, LABELS, MAX_NOTE, MAX_TITLE } from "./board.js";

export const columnIds = COLUMNS.map(({ id }) => id);
export const labelIds = LABELS.map(({ id }) => id);

/** A closed object. */
export const object = (properties, required = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

export const count = { type: "integer", minimum: 0 };
export const counts = (ids) => object(Object.fromEntries(ids.map((id) => [id, count])), ids);

export const id = { type: "string", description: "Id of the card, for example c3. list_cards shows the ids." };
export const title = { type: "string", minLength: 1, maxLength: MAX_TITLE, description: "What is to be done, in a few words." };
export const note = { type: "string", maxLength: MAX_NOTE, description: "Details, plain text." };
export const column = { type: "string", enum: columnIds };
export const label = { type: "string", enum: labelIds };
export const due = { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "Due date, YYYY-MM-DD." };

export const card = object(
  { id: { type: "string" }, column, title: { type: "string" }, note: { type: "string" }, label, due: { type: "string" } },
  ["id", "column", "title"],
);

export const cards = { type: "array", items: card };

export const summary = object(
  {
    today: { type: "string" },
    total: count,
    columns: counts(columnIds),
    labels: counts(labelIds),
    overdue: cards,
    nextDue: card,
  },
  ["today", "total", "columns", "labels", "overdue"],
);

/** The tool that "Plan my day" requires as its answer: the model chooses the cards, and the page moves them. */

import { movesFor, MAX_TODAY } from "./day-plan.js";
import { findCard } from "./board.js";
import { actorOf, described } from "./described.js";
import { writes } from "./hints.js";
import { cards, id, object } from "./schemas.js";

export const PLAN_TOOL = "arrange_day";

/** @param {import("./store.js").BoardStore} store */
export function arrangeDay(store) {
  return {
    name: PLAN_TOOL,
    title: "Arrange the day",
    description: "Puts the cards for today at the top of In progress, in the order given. Other cards in progress go back to To do. Cards that are done stay where they are.",
    inputSchema: object(
      {
        today: { type: "array", items: id, minItems: 1, maxItems: MAX_TODAY, uniqueItems: true, description: "Ids of open cards, first things first." },
        reason: { type: "string", maxLength: 600, description: "Why these and in this order, one or two sentences for the person." },
      },
      ["today"],
    ),
    outputSchema: object({ today: cards }, ["today"]),
    annotations: writes({ destructive: false, idempotent: true }),
    handler: ({ today }, { client }) => {
      for (const move of movesFor(store.board, today)) store.move(move.id, move.column, move.position, actorOf(client));
      return { today: today.map((id) => described(findCard(store.board, id))) };
    },
  };
}

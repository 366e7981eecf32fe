/**
 * Tools that process many cards. They use the other abilities of a handler: reporting progress, stopping when the result is
 * no longer needed, and asking the person first.
 */

import { cardsIn } from "./board.js";
import { isoDate } from "./dates.js";
import { actorOf, described } from "./described.js";
import { writes } from "./hints.js";
import { cards, object } from "./schemas.js";

/** Longer questions would not be read. The remaining cards are left for the next call. */
const MAX_ASKED = 20;

/** Gives each open card without a due date a date, and reports progress. */
export function scheduleCards(store) {
  return {
    name: "schedule_cards",
    title: "Schedule the cards",
    description: "Gives every open card without a due date one: the first today, the next a few days later, and so on. Reports progress card by card; cancelling keeps what is done.",
    inputSchema: object({
      days_between: { type: "integer", minimum: 0, maximum: 30, default: 1, description: "Days from one card to the next." },
    }),
    outputSchema: object({ scheduled: cards }, ["scheduled"]),
    annotations: writes({ destructive: false, idempotent: true }),
    handler: async ({ days_between = 1 }, ctx) => {
      const undated = store.board.cards.filter(({ column, due }) => column !== "done" && due === "");
      const scheduled = [];
      for (const { id, title } of undated) {
        ctx.signal.throwIfAborted();
        const due = isoDate(new Date(), scheduled.length * days_between);
        scheduled.push(described(store.update(id, { due }, actorOf(ctx.client))));
        ctx.progress(scheduled.length, undated.length, `${title}: ${due}`);
        await nextTurn();
      }
      ctx.log("info", `${scheduled.length} cards have a due date now`, "board");
      return { scheduled };
    },
  };
}

/** Removes finished cards, but asks first: through the client, or in the page if the client cannot ask. */
export function clearDone(store) {
  return {
    name: "clear_done",
    title: "Clear the finished cards",
    description: "Takes all cards in Done off the board, after asking the person which ones may go.",
    inputSchema: object({}),
    outputSchema: object({ removed: cards }, ["removed"]),
    annotations: writes({ destructive: true, idempotent: true }),
    handler: async (_input, ctx) => {
      const done = cardsIn(store.board, "done");
      if (done.length === 0) return { removed: [] };
      const { action, content } = await ctx.elicit(askWhich(done));
      const chosen = action === "accept" ? done.filter(({ id }) => content[id]) : [];
      return { removed: chosen.map(({ id }) => described(store.remove(id, actorOf(ctx.client)))) };
    },
  };
}

/** A checkbox for each card, because lists are newer than some clients that can ask. */
function askWhich(done) {
  const boxes = done.slice(0, MAX_ASKED).map(({ id, title }) => [id, { type: "boolean", title, default: true }]);
  return {
    message: "These cards are done. Which of them may be taken off the board?",
    schema: { type: "object", properties: Object.fromEntries(boxes) },
  };
}

/** Lets the browser paint and other tasks run. Timers would also work, but they fire only once a second in a hidden tab. */
const nextTurn = () => globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));

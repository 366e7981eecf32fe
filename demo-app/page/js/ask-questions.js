/**
 * The questions that this page can ask.
 *
 * Without a language model, the agent executes `/tool {json}` lines. The page then writes the lines that a model might have
 * chosen, and the conversation shows them.
 *
 * @typedef {{ prompt: string, options: object }} Question the options are those of the SDK's `mcpWeb.query`
 */

import { MAX_TODAY, mostUrgent } from "./day-plan.js";
import { isoDate } from "./dates.js";
import { described } from "./described.js";
import { PLAN_TOOL } from "./plan-tool.js";
import { cards, object } from "./schemas.js";

/** Asks for a text; the board does not change. @returns {Question} */
export function summaryOf(board, now, { languageModel }) {
  const tools = ["list_cards", "summarise_board"];
  if (!languageModel) return inLines(["/summarise_board {}", "/list_cards {\"column\":\"doing\"}"], { tools });
  const prompt = "Summarise the board in at most four short sentences: what is under way, what is late, what comes next.";
  return { prompt, options: { context: [boardNow(board), today(now)], tools, restrictTools: true } };
}

/** Asks for a call of the page's own tool, which rearranges the cards. @returns {Question} */
export function planFor(board, now, { languageModel }) {
  if (!languageModel) return inLines(planLines(board), { responseTool: PLAN_TOOL });
  const prompt = `Plan my day: choose at most ${MAX_TODAY} of the open cards, first things first. `
    + "Begin with what is overdue, then what is due next, then what is in progress. Say in a sentence why.";
  return { prompt, options: { context: [boardNow(board), today(now)], responseTool: PLAN_TOOL } };
}

/** The context that the agent gets with a question written by the person. */
export const writtenContext = (now) => [{ tool: "summarise_board" }, today(now)];

/**
 * The arguments of the response tool, with the titles of the cards, as markdown.
 *
 * @param result of the SDK's query
 * @returns {string | undefined}
 */
export function dayPlanText({ response }) {
  const planned = response?.result?.today;
  if (!Array.isArray(planned)) return undefined;
  const titles = planned.map(({ title }, index) => `${index + 1}. ${title}`);
  return [response.arguments.reason ?? "", titles.join("\n")].filter(Boolean).join("\n\n");
}

/** The first two are called in parallel: a blank line begins a new round. */
function planLines(board) {
  const plan = { today: mostUrgent(board), reason: "What is due first comes first, then what is in progress." };
  return ["/list_cards {}", "/summarise_board {}", "", `/${PLAN_TOOL} ${JSON.stringify(plan)}`];
}

const inLines = (lines, options) => ({ prompt: lines.join("\n"), options: { context: [], ...options } });

const boardNow = (board) => ({
  name: "board",
  value: { cards: board.cards.map(described) },
  schema: object({ cards }, ["cards"]),
  description: "The board as the person sees it, column by column, top to bottom.",
});

const today = (now) => ({ name: "today", value: isoDate(now), description: "Today’s date where the person is." });

/** What a screen reader hears of an answer: its steps as they come, its text when it is whole. */

import { explained } from "./ask-failures.js";

/**
 * @param {import("./asking.js").Asked} [before]
 * @param {import("./asking.js").Asked} after
 * @returns {string} empty when there is no news
 */
export function spoken(before, after) {
  if (before?.state !== after.state) {
    const words = STATE_WORDS[after.state]?.(after);
    if (words) return words;
  }
  const known = new Map(callsOf(before).map((call) => [call.id, call.state]));
  const news = callsOf(after).filter((call) => known.get(call.id) !== call.state);
  const notes = notesOf(after).slice(notesOf(before).length);
  return [...news.map(callText), ...notes].join(". ");
}

const STATE_WORDS = {
  waiting: ({ title }) => `Asked: ${title}`,
  complete: (question) => `Answer: ${answerText(question)}`,
  failed: ({ error }) => {
    const { meaning, advice } = explained(error);
    return `${meaning}. ${advice}`;
  },
  cancelled: () => "Cancelled",
};

/** The last thing that was said is the answer; the rest was on the way. */
function answerText({ blocks, plan }) {
  if (plan) return [plan.reason, `Today: ${plan.today.join(", ")}`].filter(Boolean).join(" ");
  return blocks.findLast(({ kind }) => kind === "text")?.text ?? "the tools have done it";
}

const callText = ({ tool, state, error }) =>
  ({ running: `Calling ${tool}`, done: `${tool} finished`, failed: `${tool} failed: ${error ?? "no reason given"}` })[state] ?? "";

const blocksOf = (question, kind) => question?.blocks.filter((block) => block.kind === kind) ?? [];
const callsOf = (question) => blocksOf(question, "calls").flatMap(({ calls }) => calls);
const notesOf = (question) => blocksOf(question, "note").map(({ text }) => text);

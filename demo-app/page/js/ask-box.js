/** "Ask AI": sets up the SDK's element `<mcp-web-ask>` for this page. */

import { failureText } from "./ask-failures.js";
import { dayPlanText, planFor, summaryOf, writtenContext } from "./ask-questions.js";
import { byId } from "./dom.js";

/**
 * @param mcpWeb
 * @param {import("./store.js").BoardStore} store
 * @param {import("./ask-agent.js").Agent} agent
 */
export function showAskBox(mcpWeb, store, agent) {
  const suggestion = (label, questionOf) => {
    const question = () => questionOf(store.board, new Date(), agent);
    return { label, prompt: () => question().prompt, options: () => question().options };
  };
  const strings = { failure: failureText };
  if (!agent.languageModel) {
    strings.placeholder = '/add_card {"title": "Buy stamps"}';
    strings.prompt = "No language model: this page wrote the lines itself";
  }
  Object.assign(byId("ask"), {
    strings,
    suggestions: [suggestion("Summarise the board", summaryOf), suggestion("Plan my day", planFor)],
    context: () => writtenContext(new Date()),
    answer: dayPlanText,
    // This is set last, because a question of the previous document is resumed immediately.
    mcpWeb,
  });
}

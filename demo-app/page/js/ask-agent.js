/**
 * The agent that answers the questions of this page.
 *
 * @typedef {{ label: string, languageModel: boolean }} Agent
 */

import { byId, setText } from "./dom.js";

const ABOUT = "/demo/agent";

/** Asks the demo for the agent, and shows it to the person. @returns {Promise<Agent>} */
export async function introduceAgent() {
  const agent = await about();
  setText(byId("ask-model"), wordsFor(agent));
  byId("ask").dataset.model = agent.languageModel ? "language" : "lines";
  return agent;
}

async function about() {
  try {
    const answer = await fetch(ABOUT);
    if (!answer.ok) throw new Error(`${ABOUT}: ${answer.status}`);
    return await answer.json();
  } catch {
    return { label: "an agent elsewhere", languageModel: true };
  }
}

const wordsFor = ({ label, languageModel }) =>
  languageModel
    ? `${label} answers, with the tools of this page.`
    : "No language model: this demo executes /tool lines. The two buttons write them for you.";

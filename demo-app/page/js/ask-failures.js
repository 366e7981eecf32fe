/** Why a question was not answered, in words for the person at the page: what it means, what to do. */

const KEY = "Check the key that the demo was started with.";
const LATER = "Wait a little, then ask again.";
const SMALLER = "Ask for less at a time.";
const AGAIN = "Ask again.";

/** @type {Record<string, [meaning: string, advice: string]>} */
const MEANINGS = {
  ModelUnauthorized: ["The model’s provider does not accept the key", KEY],
  ModelRateLimited: ["The model’s provider takes no more questions for now", LATER],
  ModelUnavailable: ["The model does not answer", LATER],
  ModelRequestRefused: ["The model’s provider refuses the request", "Check the name of the model that the demo was started with."],
  ModelStreamBroken: ["The answer broke off", AGAIN],
  ModelStreamUnfinished: ["The answer stopped without an end", AGAIN],
  ModelArgumentsCutOff: ["The model did not finish what it began to ask of a tool", AGAIN],
  ModelRefused: ["The model declined to answer", "Ask in other words."],
  ModelLengthReached: ["The answer became too long", SMALLER],
  QueryBudgetExceeded: ["The question cost more than one question may", SMALLER],
  ResponseToolNotCalled: ["The model answered, but not in the form that was asked for", AGAIN],
  QueryTimeout: ["The answer took too long", SMALLER],
  QueryLimitExceeded: ["Too many questions are being answered", LATER],
  QueryNotFound: ["The answer was not waited for", AGAIN],
  AgentNotConfigured: ["Nobody answers questions here", "Start the demo without --agent-url, or with the URL of an agent."],
  AgentUnavailable: ["The agent does not answer", "Start the demo again, then ask again."],
  AgentFailed: ["The agent has failed", AGAIN],
  BridgeUnavailable: ["The agent cannot reach the tools of this page", "Start the demo again, then ask again."],
  ToolNotFound: ["A tool that the question needs is switched off", "Switch it on under “On offer”, then ask again."],
  Disconnected: ["This page is not connected", "Connect it at the top of the panel, then ask again."],
  InsufficientScope: ["This page may not ask questions", "Give its token the scope “query”."],
  BridgeStopping: ["The demo is being stopped", "Start it again, then ask again."],
};

/** Here the page knows better than the program what the person can do. */
const OWN_ADVICE = new Set(["ToolNotFound", "Disconnected"]);

/**
 * @param {import("./asking.js").Failure} failure
 * @returns {{ meaning: string, advice: string, detail: string }} `detail` is what the program said, with its code
 */
export function explained({ code, message, remedy }) {
  const [meaning, advice] = MEANINGS[code] ?? ["The question was not answered", AGAIN];
  const what = remedy ? message.replace(`: ${remedy}`, "") : message;
  const best = remedy && !OWN_ADVICE.has(code) ? sentence(remedy) : advice;
  return { meaning, advice: best, detail: code ? `${what} (${code})` : what };
}

/** Remedies begin in lower case and end without a stop, for logs. */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** Why a question was not answered, for the person at the page. */

import type { AskFailure } from "../types/ask.ts";

const LATER = "Try again later.";
const SMALLER = "Ask for less at a time.";
const AGAIN = "Try again.";
const OPERATOR = "Tell the operator of this page.";

/** What a code means, and what to do. */
const MEANINGS = new Map(Object.entries({
  ModelUnauthorized: ["The model’s provider does not accept the key.", OPERATOR],
  ModelRateLimited: ["The model’s provider takes no more questions for now.", LATER],
  ModelUnavailable: ["The model does not answer.", LATER],
  ModelRequestRefused: ["The model’s provider refuses the request.", OPERATOR],
  ModelStreamBroken: ["The answer broke off.", AGAIN],
  ModelStreamUnfinished: ["The answer stopped without an end.", AGAIN],
  ModelArgumentsCutOff: ["The model did not finish a call of a tool.", AGAIN],
  ModelRefused: ["The model declined to answer.", "Ask in other words."],
  ModelLengthReached: ["The answer became too long.", SMALLER],
  ModelAnswerEmpty: ["The model gave no answer.", "Ask in other words."],
  QueryBudgetExceeded: ["The question cost more than one question may.", SMALLER],
  QueryTooLarge: ["The question is too large.", SMALLER],
  QueryTimeout: ["The answer took too long.", SMALLER],
  QueryLimitExceeded: ["Too many questions are being answered.", LATER],
  QueryNotFound: ["The answer is not available any more.", AGAIN],
  ResponseToolNotCalled: ["The model did not answer in the form that was asked for.", AGAIN],
  ToolNotFound: ["A tool that the question needs is missing.", AGAIN],
  AgentNotConfigured: ["Nobody answers questions here.", OPERATOR],
  AgentUnavailable: ["The agent does not answer.", LATER],
  AgentFailed: ["The agent has failed.", AGAIN],
  BridgeUnavailable: ["The agent cannot reach the tools of this page.", LATER],
  BridgeUnreachable: ["The bridge does not answer.", LATER],
  Disconnected: ["This page is not connected.", "Connect it and try again."],
  InsufficientScope: ["This page may not ask questions.", OPERATOR],
}));

/** Returns what a failure means and what to do. What the failure itself advises comes first. */
export function failureText({ code = "", remedy }: AskFailure): string {
  const [meaning, advice] = MEANINGS.get(code) ?? ["The question was not answered.", AGAIN];
  return `${meaning} ${remedy ? sentence(remedy) : advice}`;
}

/** Remedies begin in lower case and end without a stop, for logs. */
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

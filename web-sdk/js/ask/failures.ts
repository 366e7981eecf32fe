/** Explains to the person at the page why a question was not answered. */

import type { AskFailure } from "../types/ask.ts";
import type { McpWebErrorCode } from "../types/error-codes.ts";

/** The codes that have a name in {@link McpWebErrorCode}, without the other strings. */
type KnownCode<Code = McpWebErrorCode> = Code extends string ? (string extends Code ? never : Code) : never;

const LATER = "Try again later.";
const SMALLER = "Ask for less at a time.";
const AGAIN = "Try again.";
const OPERATOR = "Tell the operator of this page.";

/** The meaning of a code, and advice. */
const MEANINGS = {
  ModelUnauthorized: ["The model’s provider does not accept the key.", OPERATOR],
  ModelRateLimited: ["The model’s provider takes no more questions for now.", LATER],
  ModelUnavailable: ["The model does not answer.", LATER],
  ModelRequestRefused: ["The model’s provider refuses the request.", OPERATOR],
  ModelInputTooLong: ["The conversation is too long for the model.", "Begin a new one, or ask for less."],
  ModelStreamBroken: ["The answer broke off.", AGAIN],
  ModelStreamUnfinished: ["The answer stopped without an end.", AGAIN],
  ModelArgumentsCutOff: ["The model did not finish a call of a tool.", AGAIN],
  ModelCallInvalid: ["The model could not call a tool.", AGAIN],
  ModelRefused: ["The model declined to answer.", "Ask in other words."],
  ModelLengthReached: ["The answer became too long.", SMALLER],
  ModelAnswerEmpty: ["The model gave no answer.", "Ask in other words."],
  ModelAnswerInvalid: ["The model’s answer does not have the form that was asked for.", AGAIN],
  QueryBudgetExceeded: ["A limit for questions is reached.", SMALLER],
  PersonRequired: ["Only you may ask here.", "Press the button yourself."],
  QueryTooLarge: ["The question is too large.", SMALLER],
  RequestTooLarge: ["The question is larger than the agent takes.", SMALLER],
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
} satisfies Partial<Record<KnownCode, [meaning: string, advice: string]>>;

const MEANINGS_BY_CODE = new Map<string, string[]>(Object.entries(MEANINGS));

/** Returns the meaning of a failure, and advice. The failure's own advice comes first. */
export function failureText({ code = "", remedy }: AskFailure): string {
  const [meaning, advice] = MEANINGS_BY_CODE.get(code) ?? ["The question was not answered.", AGAIN];
  return `${meaning} ${remedy ? sentence(remedy) : advice}`;
}

/** Remedies begin in lower case and end without a full stop, for logs. */
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/** The texts of the element: those of the app, and English ones for the rest. */

import { APPROVAL_STRINGS } from "../dialog/approval-strings.ts";
import type { AskFailure, AskStrings } from "../types/ask.ts";
import { failureText } from "./failures.ts";

/** All texts. */
export type CompleteAskStrings = Required<Omit<AskStrings, "failure">> & { failure(error: AskFailure): string };

const ENGLISH: CompleteAskStrings = {
  label: "Ask AI",
  placeholder: "Ask, or say what to change",
  send: "Ask AI",
  stop: "Stop",
  retry: "Try again",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Not copied",
  clear: "New conversation",
  conversation: "Conversation",
  suggestions: "Suggestions",
  question: "You asked:",
  prompt: "Prompt",
  thinking: "Thinking",
  waiting: "Waiting for the agent",
  running: "Working",
  done: "Done",
  cancelled: "Stopped",
  interrupted: "The page was left before the answer came.",
  callState: (state) => state,
  ...APPROVAL_STRINGS,
  result: "Result",
  image: (text) => `Picture: ${text}`,
  failure: failureText,
};

/** Returns all texts. A text that is given as `undefined`, such as a missing translation, is also English. */
export function completeStrings(given: AskStrings = {}): CompleteAskStrings {
  const translated = Object.fromEntries(Object.entries(given).filter(([, text]) => text !== undefined));
  return { ...ENGLISH, ...translated, failure: (error) => given.failure?.(error) ?? failureText(error) };
}

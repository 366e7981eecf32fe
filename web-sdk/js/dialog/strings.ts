/** The texts of the dialog: those of the app, and English ones for the rest. */

import type { DialogStrings } from "../types/dialog.ts";
import { APPROVAL_STRINGS } from "./approval-strings.ts";

/** All texts. */
export type CompleteDialogStrings = Required<DialogStrings>;

const ENGLISH: CompleteDialogStrings = {
  title: (asker) => `${asker} asks`,
  askingTool: (tool) => `The tool ${tool} asks this.`,
  recipient: (asker, app) => `Your answer goes to ${asker} through ${app}.`,
  send: "Send",
  open: (host) => `Open ${host || "it"}`,
  decline: "Decline",
  cancel: "Cancel",
  choose: "Choose …",
  noChoice: "No choice",
  missing: "Please fill this in.",
  missingChoice: "Please choose one.",
  incomplete: "Please complete this.",
  tooFewChoices: (count) => `Please choose at least ${count}.`,
  tooManyChoices: (count) => `Please choose at most ${count}.`,
  notANumber: "Please enter a number.",
  notAnInteger: "Please enter a whole number.",
  tooSmall: (minimum) => `Please enter ${minimum} or more.`,
  tooLarge: (maximum) => `Please enter ${maximum} or less.`,
  tooShort: (count) => `Please enter at least ${count} characters.`,
  tooLong: (count, length) => `Please enter at most ${count} characters: these are ${length}.`,
  wrongFormat: (example) => `Please enter something like ${example}.`,
  wrongPattern: "Please enter it in the form that is asked for.",
  ...APPROVAL_STRINGS,
  approve: "Allow",
  deny: "Do not allow",
  pageTool: (app) => `It is a tool of ${app}.`,
  arguments: "Arguments",
  noArguments: "The call has no arguments.",
  framed: "This page is shown inside of another site, which could cover the question. Answer it in a separate window.",
  openWindow: "Open a window",
  timeLeft: (seconds) => `If nobody answers, the call is refused within ${seconds} s.`,
};

/** Returns all texts. A text that is given as `undefined`, such as a missing translation, is also English. */
export function completeStrings(given: DialogStrings = {}): CompleteDialogStrings {
  return { ...ENGLISH, ...Object.fromEntries(Object.entries(given).filter(([, text]) => text !== undefined)) };
}

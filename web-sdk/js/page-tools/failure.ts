/** Failures of whole calls, in which no action has run. */

/** Why a call was rejected, for programs. */
export type RefusalReason = "TooManyActions" | "ActionMalformed" | "PageUnknown" | "RefUnknown" | "ArgumentInvalid";

/** The reason for all failures if the app's `root` returns nothing. */
export const NOTHING_SHOWN = "the app shows nothing of this page to AI clients now: ask the user, or try again later";

/** Creates the error for a call with invalid arguments. */
export function invalidArguments(reason: RefusalReason, message: string): Error {
  return Object.assign(new Error(message), { code: "InvalidArguments", data: { reason } });
}

/** Creates the error for a call that could not begin because the person at the page first had to answer a question. */
export function personAsked(message: string): Error {
  return Object.assign(new Error(`${message}: nothing was done, tell the user to look at the page, and try again`), { data: { reason: "PersonAsked" } });
}

/** Creates the error for a call that could not begin. */
export function pageBusy(): Error {
  const message = "the page is busy with another call of page tools for more than 60 s: nothing was done, try again";
  return Object.assign(new Error(message), { data: { reason: "PageBusy" } });
}

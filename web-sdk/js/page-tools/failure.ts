/** Failures of whole calls: nothing was done. */

/** Why a call was refused, for programs. */
export type RefusalReason = "TooManyActions" | "ActionMalformed" | "PageUnknown" | "RefUnknown" | "ArgumentInvalid";

/** Why nothing is done where the app's `root` returns nothing. */
export const NOTHING_SHOWN = "the app shows nothing of this page to AI clients now: ask the user, or try again later";

/** Makes the error of a call whose arguments are refused. */
export function invalidArguments(reason: RefusalReason, message: string): Error {
  return Object.assign(new Error(message), { code: "InvalidArguments", data: { reason } });
}

/** Makes the error of a call that could not begin because the person at the page had to answer first. */
export function personAsked(message: string): Error {
  return Object.assign(new Error(`${message}: nothing was done, tell the user to look at the page, and try again`), { data: { reason: "PersonAsked" } });
}

/** Makes the error of a call that could not begin. */
export function pageBusy(): Error {
  const message = "the page is busy with another call of page tools for more than 60 s: nothing was done, try again";
  return Object.assign(new Error(message), { data: { reason: "PageBusy" } });
}

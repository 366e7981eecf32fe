/** Failures of whole calls: nothing was done, unless the message says so. */

import { SessionStoreError } from "../stores/index.ts";

/** Makes the error of a call whose arguments are refused. */
export const invalidArguments = (reason: string, message: string): Error => Object.assign(new Error(message), { code: "InvalidArguments", data: { reason } });

/** Makes the error of a call that failed for another reason, for programs. */
export const handlerFailed = (reason: string, message: string): Error => Object.assign(new Error(message), { data: { reason } });

/** Returns the error of a store as that of a call. */
export function callFailure(error: unknown): unknown {
  if (!(error instanceof SessionStoreError)) return error;
  const { code, message } = error;
  if (code === "SessionUnknown" || code === "SessionExpired" || code === "SessionLimit") return invalidArguments(code, message);
  return handlerFailed(code, message);
}

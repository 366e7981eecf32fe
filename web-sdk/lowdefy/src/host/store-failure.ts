/** Converts failures of the store to those of calls. */

import { handlerFailed, invalidArguments } from "../processes/call-failure.ts";
import { SessionStoreError } from "../stores/index.ts";

/** Converts the error of a store to that of a call. */
export function callFailure(error: unknown): unknown {
  if (!(error instanceof SessionStoreError)) return error;
  const { code, message } = error;
  if (code === "SessionUnknown" || code === "SessionExpired" || code === "SessionLimit") return invalidArguments(code, message);
  return handlerFailed(code, message);
}

/** Failures of whole calls: no action has run, unless the message says otherwise. */

/** Creates the error for a call with invalid arguments. */
export const invalidArguments = (reason: string, message: string): Error => Object.assign(new Error(message), { code: "InvalidArguments", data: { reason } });

/** Creates the error for a call that failed for another reason, for programs. */
export const handlerFailed = (reason: string, message: string): Error => Object.assign(new Error(message), { data: { reason } });

/** Failures of whole calls: nothing was done, unless the message says so. */

/** Makes the error of a call whose arguments are refused. */
export const invalidArguments = (reason: string, message: string): Error => Object.assign(new Error(message), { code: "InvalidArguments", data: { reason } });

/** Makes the error of a call that failed for another reason, for programs. */
export const handlerFailed = (reason: string, message: string): Error => Object.assign(new Error(message), { data: { reason } });

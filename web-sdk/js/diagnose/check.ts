/** One check of a diagnosis. */

const check = (status) => (name, message, remedy) => ({ name, status, message, remedy });

export const passed = check("passed");
export const failed = check("failed");
export const warning = check("warning");
export const unknown = check("unknown");

/** A wall as a check. */
export const failedBy = (name, { code, what, remedy }) => failed(name, `${code}: ${what}`, remedy);

/** Disposal, including on platforms without it. */

/** The key of the method that `await using` calls. Compilers use the same key if `Symbol.asyncDispose` does not exist. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

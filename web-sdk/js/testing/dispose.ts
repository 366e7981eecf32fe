/** Disposal, also where the platform does not have it. */

/** The key of the method that `await using` calls. Compilers look for the same one where there is no `Symbol.asyncDispose`. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

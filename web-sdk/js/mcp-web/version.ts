/** The version of this copy of the SDK, the same as in `package.json`. Several copies of a page compare theirs. */
export const VERSION = "0.2.0";

/** Errors, as the app sees them. */

import type { McpWebErrorCode } from "../types/error-codes.ts";

/** An error with a code for programs and a message that says what to do. */
export class McpWebError extends Error {
  /** The name of the class. */
  declare readonly name: "McpWebError";
  /** A description of the error. */
  readonly code: McpWebErrorCode;
  /** Advice, if there is any. The message also contains it. */
  declare readonly remedy?: string;
  /** Details for programs. If a handler throws the error, they are sent to the client. */
  declare data?: unknown;

  /** Creates an error. Its code and message reach the client if a handler throws it. */
  constructor(code: McpWebErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The class, for modules that are loaded later: they must not have their own copy. */
export type McpWebErrorConstructor = new (code: McpWebErrorCode, message: string, options?: ErrorOptions) => McpWebError;

// The name is on the prototype, where the browser looks for it when it writes the stack: the minified class has another.
(McpWebError.prototype as { name: string }).name = "McpWebError";

/** Creates the error for a feature that works only in a browser. */
export const notInBrowser = (what: string): McpWebError => new McpWebError("NotInBrowser", `${what} needs a browser or mcp-web-sdk/node`);

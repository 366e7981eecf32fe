/** The error of a request. */

/** A JSON-RPC error, as MCP clients get it. */
export class McpError extends Error {
  /** The JSON-RPC code, such as -32602 for wrong parameters. */
  readonly code: number;
  /** The bridge's error code as `code`, and what belongs to it. */
  readonly data: any;

  /** Creates an error. */
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = "McpError";
    this.code = code;
    this.data = data;
  }
}

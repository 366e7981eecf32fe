/** The error of a request. */

/** A JSON-RPC error, as MCP clients receive it. */
export class McpError extends Error {
  /** The JSON-RPC code, such as -32602 for invalid parameters. */
  readonly code: number;
  /** The bridge's error code as `code`, with its details. */
  readonly data: any;

  /** Creates an error. */
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = "McpError";
    this.code = code;
    this.data = data;
  }
}

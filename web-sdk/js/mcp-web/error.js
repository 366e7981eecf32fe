/** Failures as the app sees them. */

export class McpWebError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "McpWebError";
    this.code = code;
  }
}

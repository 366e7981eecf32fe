/** Failures as the app sees them. */

export class McpWebError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }
}

// On the prototype, where the browser looks when it writes the stack: minified, the class has another name.
McpWebError.prototype.name = "McpWebError";

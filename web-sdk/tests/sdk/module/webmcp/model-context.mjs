// The browser's API for tools (WebMCP) without a browser: it behaves as Chromium 156 does, including its pitfalls.

const failure = (name, message) => new DOMException(message, name);

/** `document.modelContext`. `options.wantsText`: like polyfills, it accepts the input of a call only as JSON text. */
export class FakeModelContext extends EventTarget {
  #tools = new Map();
  #options;
  /** The names of the registered and removed tools, in order. */
  log = [];
  /** Whether a result has crashed the renderer. */
  hasCrashed = false;
  /** The permissions policy rejects everything. */
  isForbidden = false;

  constructor(options = {}) {
    super();
    this.#options = options;
  }

  async registerTool(tool, { signal } = {}) {
    if (this.isForbidden) throw failure("NotAllowedError", 'Access to the feature "tools" is disallowed by permissions policy.');
    const { name, title = "", description, execute, inputSchema, annotations } = tool;
    if (name === undefined || description === undefined || typeof execute !== "function") throw new TypeError("a member is missing");
    if (!/^[\w.-]{1,128}$/.test(name)) throw failure("InvalidStateError", "Invalid tool name");
    if (!description) throw failure("InvalidStateError", "Description is required");
    if (inputSchema !== undefined && (typeof inputSchema !== "object" || inputSchema === null)) throw new TypeError("inputSchema is no object");
    const schema = inputSchema && JSON.stringify(inputSchema);
    signal?.throwIfAborted();
    if (this.#tools.has(name)) throw failure("InvalidStateError", "Duplicate tool name");
    this.log.push(`+${name}`);
    const hints = annotations && ["consequentialHint", "debugging", "readOnlyHint", "untrustedContentHint"].map((hint) => [hint, Boolean(annotations[hint])]);
    this.#tools.set(name, { name, title: String(title), description, schema, annotations: hints && Object.fromEntries(hints), execute });
    signal?.addEventListener("abort", () => this.remove(name), { once: true });
    this.#changed();
  }

  /** Adds a form of the document: it has no function, and `fill` simulates the person. */
  addForm(name, description, schema, fill) {
    this.log.push(`+${name}`);
    this.#tools.set(name, { name, title: "", description, schema: JSON.stringify(schema), fill });
    // One change of a form causes two events.
    this.#changed();
    this.#changed();
  }

  remove(name) {
    if (!this.#tools.delete(name)) return;
    this.log.push(`-${name}`);
    this.#changed();
  }

  async getTools() {
    this.lists = (this.lists ?? 0) + 1;
    if (this.isForbidden) throw failure("NotAllowedError", 'Access to the feature "tools" is disallowed by permissions policy.');
    const tools = [...this.#tools.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
    return tools.map(({ name, title, description, schema, annotations }) => ({
      ...(annotations && { annotations: { ...annotations } }),
      description,
      ...(schema && { inputSchema: JSON.parse(schema) }),
      name,
      origin: "http://localhost",
      title,
      window: this.#options.windows?.[name] ?? globalThis.window,
    }));
  }

  async executeTool(tool, input = {}, { signal } = {}) {
    for (const member of ["description", "name", "origin"]) if (tool[member] === undefined) throw new TypeError(`${member} is missing`);
    if (this.#options.wantsText) {
      if (typeof input !== "string") throw failure("UnknownError", "Failed to parse input arguments");
    } else if (typeof input !== "object" || input === null) throw new TypeError("invalid input object: value is not an object");
    const given = JSON.parse(typeof input === "string" ? input : JSON.stringify(input));
    const registered = this.#tools.get(tool.name);
    if (!registered) throw failure("UnknownError", "The operation failed for an unknown transient reason (e.g. out of memory).");
    const { promise, resolve, reject } = Promise.withResolvers();
    const own = new AbortController();
    signal?.addEventListener("abort", () => (reject(signal.reason), own.abort()), { once: true });
    if (registered.fill) {
      const event = Object.assign(new Event("toolactivated"), { toolName: tool.name });
      this.dispatchEvent(event);
      registered.fill(given, { resolve, reject });
    } else {
      this.#run(registered, given, own.signal).then(resolve, reject);
    }
    return promise;
  }

  async #run({ execute }, input, signal) {
    let value;
    try {
      value = await execute(input, { signal });
      if (typeof value === "symbol") this.hasCrashed = true;
      if (typeof value === "string") return value || "Operation succeeded";
      if (typeof value !== "object" || value === null) return String(value);
      return JSON.stringify(value) ?? "undefined";
    } catch {
      throw failure("UnknownError", "Tool was executed but the invocation failed. For example, the script function threw an error");
    }
  }

  #changed() {
    setTimeout(() => this.dispatchEvent(new Event("toolchange")));
  }
}

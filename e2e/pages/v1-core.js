// Acts as a page of mcp-web 0.1.3 on its socket, written from the contract (`docs/mcp-web-0.1.md`
// links to the project itself). It has no code of that project, and none of our SDK.

const TOKEN_KEY = "mcp-web-auth-token";
const RECONNECT_AFTER_MS = 5000;

export class MCPWeb {
  #tools = new Map();
  #resources = new Map();
  #queries = new Map();
  #sessionId = crypto.randomUUID();
  #authenticated = false;
  #refused = false;
  #socket;

  constructor({ name, bridgeUrl }) {
    this.name = name;
    this.bridgeUrl = bridgeUrl.replace(/^http/, "ws");
    this.authToken = localStorage.getItem(TOKEN_KEY) ?? crypto.randomUUID();
    localStorage.setItem(TOKEN_KEY, this.authToken);
    for (const event of ["click", "scroll", "keydown", "mousemove"]) {
      document.addEventListener(event, () => this.#send({ type: "activity", timestamp: Date.now() }), {
        passive: true,
      });
    }
    this.#connect();
  }

  get sessionId() {
    return this.#sessionId;
  }

  get isConnected() {
    return this.#authenticated;
  }

  /** The text that a person copies into an AI client. */
  get remoteMcpConfig() {
    const url = this.bridgeUrl.replace(/^ws/, "http");
    return { [this.name]: { type: "http", url: `${url}/?token=${this.authToken}` } };
  }

  addTool({ handler, ...definition }) {
    this.#tools.set(definition.name, { definition, handler });
    if (this.#authenticated) {
      this.#send({ type: "register-tool", tool: definition });
    }
  }

  /** The bridge is not notified: v1 has no message for it. */
  removeTool(name) {
    this.#tools.delete(name);
  }

  addResource({ handler, ...definition }) {
    this.#resources.set(definition.uri, { definition, handler });
    if (this.#authenticated) {
      this.#send({ type: "register-resource", resource: definition });
    }
  }

  /** Asks the agent, and calls `onEvent` for each event. Returns a function that cancels the query. */
  query({ prompt, context = [], ...rest }, onEvent) {
    const uuid = crypto.randomUUID();
    this.#queries.set(uuid, onEvent);
    this.#send({ type: "query", uuid, prompt, context, ...rest });
    return (reason) => {
      this.#queries.delete(uuid);
      this.#send({ type: "query_cancel", uuid, reason });
    };
  }

  #connect() {
    const socket = new WebSocket(`${this.bridgeUrl}/?session=${this.#sessionId}`);
    this.#socket = socket;
    socket.onopen = () =>
      this.#send({
        type: "authenticate",
        sessionId: this.#sessionId,
        authToken: this.authToken,
        origin: location.origin,
        pageTitle: document.title,
        userAgent: navigator.userAgent,
        timestamp: Date.now(),
      });
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = () => {
      this.#authenticated = false;
      this.onchange?.();
      if (!this.#refused) {
        setTimeout(() => this.#connect(), RECONNECT_AFTER_MS);
      }
    };
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify(message));
    }
  }

  async #receive(message) {
    switch (message.type) {
      case "authenticated":
        this.#authenticated = true;
        for (const { definition } of this.#tools.values()) {
          this.#send({ type: "register-tool", tool: definition });
        }
        for (const { definition } of this.#resources.values()) {
          this.#send({ type: "register-resource", resource: definition });
        }
        this.onchange?.();
        break;
      case "authentication-failed":
        this.#refused = true;
        console.error(`refused: ${message.code}: ${message.error}`);
        break;
      case "tool-registration-error":
        console.error(`${message.toolName}: ${message.error}: ${message.message}`);
        break;
      case "tool-call": {
        const { requestId } = message;
        this.#send({ type: "tool-response", requestId, result: await this.#run(message) });
        break;
      }
      case "query_progress":
        // A page of v1 drops one without a text.
        if (typeof message.message !== "string") {
          break;
        }
      case "query_accepted":
        this.#queries.get(message.uuid)?.(message);
        break;
      case "query_complete":
      case "query_failure":
      case "query_cancel":
        this.#queries.get(message.uuid)?.(message);
        this.#queries.delete(message.uuid);
        break;
      case "resource-read":
        this.#send(await this.#read(message));
        break;
    }
  }

  async #run({ toolName, toolInput }) {
    const tool = this.#tools.get(toolName);
    if (!tool) {
      return { error: `Tool '${toolName}' not found` };
    }
    try {
      return await tool.handler(toolInput);
    } catch (error) {
      return { error: error.message };
    }
  }

  async #read({ requestId, uri }) {
    const answer = { type: "resource-response", requestId };
    const resource = this.#resources.get(uri);
    if (!resource) {
      return { ...answer, mimeType: "text/plain", error: `Resource '${uri}' not found` };
    }
    const { mimeType = "text/html" } = resource.definition;
    const content = await resource.handler(uri);
    return content instanceof Uint8Array
      ? { ...answer, mimeType, blob: btoa(String.fromCharCode(...content)) }
      : { ...answer, mimeType, content };
  }
}

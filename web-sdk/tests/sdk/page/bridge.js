/** A bridge inside the page: the other end of a WebSocket that never leaves the browser. */

import { McpWeb } from "./mcp-web.js";

const LIMITS = { maxResultBytes: 1_000_000, maxFrameBytes: 2_000_000, heartbeatSeconds: 20 };

/** Lets the next `McpWeb` be the first of the document. */
export const forgetPages = () => globalThis[Symbol.for("mcp-web.pages")]?.clear();

export class Bridge {
  /** All frames of the page that no test has taken. */
  #frames = [];
  #wanted = [];
  /** The messages of which parts have arrived, by their ids. */
  #parts = new Map();
  #socket;
  #nextCall = 1;
  /** The address of the latest connection. */
  url;

  constructor() {
    const bridge = this;
    // Each test has a new page, as in a new document.
    forgetPages();
    globalThis.WebSocket = class extends EventTarget {
      readyState = 0;
      constructor(url) {
        super();
        bridge.url = url;
        bridge.connections += 1;
        bridge.#socket = this;
        setTimeout(() => {
          this.readyState = 1;
          this.onopen?.(new Event("open"));
          this.dispatchEvent(new Event("open"));
        });
      }
      send(text) {
        bridge.#receive(text);
      }
      close(code) {
        if (this.readyState === 3) return;
        this.readyState = 3;
        bridge.closeCode = code;
        // The wasm has removed its listeners if it has closed the socket itself.
        this.onclose?.(new CloseEvent("close", { code }));
      }
    };
  }

  /** Creates a page that is connected to this bridge. */
  async page(options = {}) {
    const mcpWeb = new McpWeb({ name: "Test app", storage: "none", ...options });
    await this.accept();
    await mcpWeb.connect();
    return mcpWeb;
  }

  /** Accepts the page, and returns its introduction. */
  async accept(bridgeId = "b-1", more = {}) {
    const introduction = await this.next("authenticate");
    const { sessionId } = introduction;
    this.say({ type: "authenticated", sessionId, success: true, protocol: 2, bridgeId, limits: LIMITS, ...more });
    return introduction;
  }

  /** The number of connections that the page has opened. */
  connections = 0;

  /** The code of the latest close by the page. */
  closeCode;

  breakConnection(code = 1006) {
    this.#socket.readyState = 3;
    this.#socket.onclose(new CloseEvent("close", { code }));
  }

  say(message) {
    this.#socket.onmessage(new MessageEvent("message", { data: JSON.stringify(message) }));
  }

  /** Answers the next registration as a bridge does. */
  async register() {
    const { registrationId, items } = await this.next("register");
    const names = items.map(({ kind, definition }) => ({ kind, name: definition.uriTemplate ?? definition.uri ?? definition.name }));
    this.say({
      type: "registered",
      registrationId,
      items: names.map((item) => ({ ...item, publishedName: item.name })),
      errors: [],
    });
    return items;
  }

  /** Answers registrations until these items are registered, and returns them by name. What changes within 50 ms is registered at once. */
  async registered(count) {
    const items = new Map();
    while (items.size < count) for (const item of await this.register()) items.set(item.definition.name, item);
    return [...items.keys()].sort().map((name) => items.get(name));
  }

  /** Starts a call and returns its id. */
  start(message) {
    const requestId = `c${this.#nextCall++}`;
    this.say({ requestId, context: {}, ...message });
    return requestId;
  }

  /** Calls, and waits for the answer. */
  async call(message) {
    this.start(message);
    await this.next("call-received");
    return this.next("call-response", "call-error");
  }

  tool(toolName, toolInput = {}, context = {}) {
    return this.call({ type: "tool-call", toolName, toolInput, context });
  }

  /** Returns the next frame of one of these types; others stay. */
  next(...types) {
    const at = this.#frames.findIndex(({ type }) => types.includes(type));
    if (at >= 0) return Promise.resolve(this.#frames.splice(at, 1)[0]);
    return new Promise((resolve) => this.#wanted.push({ types, resolve }));
  }

  /** Returns whether a frame of this type is waiting. */
  has(type) {
    return this.#frames.some((frame) => frame.type === type);
  }

  /** Long messages arrive in parts: `#+ID TEXT`, the last as `#.ID TEXT`. */
  #whole(text) {
    const [head, sign, id] = /^#([+.])(\d+) /.exec(text) ?? [];
    if (!head) return text;
    const begun = (this.#parts.get(id) ?? "") + text.slice(head.length);
    this.#parts.set(id, begun);
    if (sign === "+") return undefined;
    this.#parts.delete(id);
    return begun;
  }

  #receive(text) {
    const whole = this.#whole(text);
    if (whole === undefined) return;
    const frame = JSON.parse(whole);
    const at = this.#wanted.findIndex(({ types }) => types.includes(frame.type));
    if (at < 0) this.#frames.push(frame);
    else this.#wanted.splice(at, 1)[0].resolve(frame);
  }
}

/**
 * MCP-Web: lets AI clients use this page through tools that the page registers.
 *
 * This module is what an app imports. It holds the public surface, and loads the protocol itself
 * (`mcp_web_core`) as wasm when a browser makes the first `McpWeb`. The types and their documentation are
 * in `mcp-web.d.ts`.
 */

import { inBrowser, randomHex } from "./mcp-web/environment.js";
import { McpWebError } from "./mcp-web/error.js";
import { notify, subscribe } from "./mcp-web/listeners.js";
import { loadCore } from "./mcp-web/load.js";
import { adviseOne } from "./mcp-web/one-per-page.js";
import { bridgeUrl, checkedOptions } from "./mcp-web/options.js";
import { keptToken } from "./mcp-web/token.js";
import { Tool, ToolHandle, checkedTool, toJson } from "./mcp-web/tool.js";

export { McpWebError };

/** The bridge tells pages and AI clients the same about a token; a page has it from its own option. */
const inWordsOfThePage = (code, message) =>
  code === "InvalidAuthentication" ? `${message} (authToken of new McpWeb())` : message;

const importGlue = () => import("./mcp_web_core.js");

export class McpWeb {
  #options;
  #bridgeUrl;
  #sessionId;
  #token;
  #status = Object.freeze({ state: "idle" });
  #clients = Object.freeze([]);
  #statusListeners = new Set();
  #clientsListeners = new Set();
  #callListeners = new Set();
  /** Every tool that was added and not removed: key → Tool, in order of adding. */
  #tools = new Map();
  #nextKey = 1;
  /** Calls under way: call id → what their events and handlers share. */
  #calls = new Map();
  /** The wasm connection, once it is loaded. */
  #connection;
  #loading;
  /** Those who wait for `connect()`. */
  #waiting = [];

  constructor(options) {
    this.#options = checkedOptions(options);
    this.#bridgeUrl = bridgeUrl(options.bridgeUrl, import.meta.url);
    this.#sessionId = options.sessionId;
    if (!inBrowser) return;
    this.#sessionId ??= randomHex(16);
    if (typeof options.authToken !== "function") {
      this.#token = options.authToken ?? keptToken(this.#bridgeUrl, options.storage);
    }
    if (options.autoConnect !== false) this.#start();
  }

  get status() {
    return this.#status;
  }

  get clients() {
    return this.#clients;
  }

  get sessionId() {
    return this.#sessionId;
  }

  get authToken() {
    return this.#token;
  }

  get bridgeUrl() {
    return this.#bridgeUrl;
  }

  get mcpConfig() {
    if (!this.#token) return undefined;
    const env = { MCP_SERVER_URL: `${this.#bridgeUrl}/mcp`, AUTH_TOKEN: this.#token };
    return this.#config({ command: "mcp-web-stdio", args: [], env });
  }

  get remoteMcpConfig() {
    if (!this.#token) return undefined;
    const headers = { Authorization: `Bearer ${this.#token}` };
    return this.#config({ type: "http", url: `${this.#bridgeUrl}/mcp`, headers });
  }

  /** Clients make tool prefixes of this name, so it keeps to what they allow there. */
  #config(server) {
    const name = this.#options.name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");
    return { mcpServers: { [name || "mcp-web"]: server } };
  }

  onStatusChange(listener) {
    return subscribe(this.#statusListeners, listener, "onStatusChange");
  }

  onClientsChange(listener) {
    return subscribe(this.#clientsListeners, listener, "onClientsChange");
  }

  onCall(listener) {
    return subscribe(this.#callListeners, listener, "onCall");
  }

  addTool(definition, options = {}) {
    const { handler, ...tool } = checkedTool(definition);
    const { signal } = options;
    const json = toJson(tool);
    const key = this.#nextKey++;
    const entry = new Tool(key, tool.name, json, handler);
    const handle = new ToolHandle(entry, () => this.#removeTool(entry));
    if (signal?.aborted) {
      entry.dropped();
      entry.gone();
      return handle;
    }
    signal?.addEventListener("abort", () => handle.remove(), { once: true });
    this.#keep(entry);
    if (this.#connection) this.#connection.addTool(key, tool.name, json, handler);
    else if (this.#status.state === "failed") entry.unavailable(this.#status.error);
    return handle;
  }

  /** Until the wasm is there, a tool of the same name is replaced here; its place stays the same. */
  #keep(entry) {
    const twin = [...this.#tools.values()].find((other) => other.name === entry.name);
    if (twin && !this.#connection) {
      twin.dropped();
      const tools = [...this.#tools].map(([key, tool]) => (tool === twin ? [entry.key, entry] : [key, tool]));
      this.#tools = new Map(tools);
    } else {
      this.#tools.set(entry.key, entry);
    }
  }

  #removeTool(entry) {
    if (this.#connection) {
      this.#connection.removeTool(entry.key);
    } else {
      this.#tools.delete(entry.key);
      entry.dropped();
      entry.gone();
    }
  }

  connect() {
    if (!inBrowser) {
      return Promise.reject(new McpWebError("NotInBrowser", "connect() needs a browser: this code runs on a server"));
    }
    if (this.#status.state === "connected") return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#start();
    });
  }

  disconnect() {
    if (this.#connection) this.#connection.disconnect();
    else if (inBrowser) this.#setStatus({ state: "disconnected" });
    return Promise.resolve();
  }

  #start() {
    this.#adviseOne();
    if (this.#connection) return this.#connection.connect();
    this.#setStatus({ state: "loading" });
    this.#loading ??= this.#load();
  }

  /** An app that names its sessions wants several. */
  #adviseOne() {
    const { name, sessionId, sessionName } = this.#options;
    if (!sessionId && !sessionName) adviseOne(this, name, JSON.stringify([name, this.#bridgeUrl, this.#token]));
  }

  async #load() {
    try {
      const { Connection } = await loadCore(importGlue, new URL("./mcp_web_core_bg.wasm", import.meta.url));
      this.#connection = new Connection(this.#host(), this.#facts());
    } catch (error) {
      // Before anyone hears of it: they may connect() again at once.
      this.#loading = undefined;
      for (const tool of this.#tools.values()) tool.unavailable(error);
      if (this.#status.state === "loading") this.#setStatus({ state: "failed", error });
      return;
    }
    for (const tool of this.#tools.values()) {
      this.#connection.addTool(tool.key, tool.name, tool.json, tool.handler);
    }
    // The app may have changed its mind while the wasm was on its way.
    if (this.#status.state === "loading") this.#connection.connect();
  }

  #facts() {
    const { name, description, version, icon, sessionName } = this.#options;
    const socket = new URL(`${this.#bridgeUrl}/ws`);
    socket.protocol = socket.protocol.replace("http", "ws");
    socket.searchParams.set("session", this.#sessionId);
    return {
      bridgeUrl: this.#bridgeUrl,
      socketUrl: socket.href,
      sessionId: this.#sessionId,
      sessionName,
      app: JSON.stringify({ name, description, version, icon }),
    };
  }

  /** What the wasm tells this module. */
  #host() {
    return {
      token: () => this.#freshToken(),
      status: (state, code, message, retryInMs) => {
        const status = { state };
        if (code) status.error = new McpWebError(code, inWordsOfThePage(code, message));
        if (retryInMs !== undefined) status.retryInMs = retryInMs;
        this.#setStatus(status);
      },
      clients: (clients) => {
        this.#clients = Object.freeze(clients ?? []);
        notify(this.#clientsListeners, this.#clients);
      },
      registered: (key, publishedName) => this.#tools.get(key)?.registered(publishedName),
      refused: (key, code, message) => this.#tools.get(key)?.refused(new McpWebError(code, message)),
      dropped: (key) => this.#tools.get(key)?.dropped(),
      removed: (key) => {
        this.#tools.get(key)?.gone();
        this.#tools.delete(key);
      },
      callStarted: (callId, toolName, input, client) => this.#callStarted(callId, toolName, input, client),
      callFinished: (callId, result) => this.#callEnded(callId, { phase: "finished", result }),
      callFailed: (callId, code, message) =>
        this.#callEnded(callId, { phase: "failed", error: new McpWebError(code, message) }),
      callCancelled: (callId, code, message) => {
        const error = new McpWebError(code, message);
        const call = this.#calls.get(callId);
        this.#callEnded(callId, { phase: "cancelled", error });
        call?.controller.abort(error);
      },
      warn: (message) => console.warn(`mcp-web: ${message}`),
    };
  }

  async #freshToken() {
    const { authToken } = this.#options;
    if (typeof authToken !== "function") return this.#token;
    const token = await authToken();
    if (typeof token !== "string" || !token) throw new TypeError("it must return a non-empty string");
    return (this.#token = token);
  }

  #setStatus(status) {
    const former = this.#status.state;
    this.#status = Object.freeze(status);
    const { state, error } = status;
    if (state === "reconnecting" && former === "connecting") console.warn(`mcp-web: ${error.message}`);
    if (state === "connected" || state === "failed" || state === "disconnected") {
      const waiting = this.#waiting;
      this.#waiting = [];
      const reason = error ?? new McpWebError("Disconnected", "disconnect() was called");
      for (const { resolve, reject } of waiting) state === "connected" ? resolve() : reject(reason);
      if (state === "failed" && !waiting.length) console.error(`mcp-web: ${error.message}`);
    }
    notify(this.#statusListeners, this.#status);
  }

  #callStarted(callId, toolName, input, client) {
    const controller = new AbortController();
    const event = { callId, toolName, input };
    if (client) event.client = client;
    this.#calls.set(callId, { controller, event, startedAt: performance.now() });
    notify(this.#callListeners, Object.freeze({ phase: "started", ...event }));
    return { signal: controller.signal, callId, client };
  }

  #callEnded(callId, ending) {
    const call = this.#calls.get(callId);
    if (!call) return;
    this.#calls.delete(callId);
    const durationMs = performance.now() - call.startedAt;
    notify(this.#callListeners, Object.freeze({ ...call.event, ...ending, durationMs }));
  }
}

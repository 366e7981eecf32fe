/**
 * MCP-Web: lets AI clients use this page through the tools, prompts and resources that it registers.
 *
 * This module is what an app imports. It holds the public surface, and loads the protocol itself
 * (`mcp_web_core`) as wasm when a browser makes the first `McpWeb`. The types and their documentation are
 * in `mcp-web.d.ts`.
 */

import { advise } from "./mcp-web/advice.js";
import { toolAnswer } from "./mcp-web/answers.js";
import { AppHandle, appParts } from "./mcp-web/app.js";
import { Calls } from "./mcp-web/calls.js";
import { checked } from "./mcp-web/checks.js";
import { httpConfig, stdioConfig } from "./mcp-web/configuration.js";
import { content } from "./mcp-web/content.js";
import { Definitions } from "./mcp-web/definitions.js";
import { inBrowser, randomHex } from "./mcp-web/environment.js";
import { McpWebError } from "./mcp-web/error.js";
import { jsonOf } from "./mcp-web/json.js";
import { askInPage, loaded } from "./mcp-web/later.js";
import { notify, subscribe } from "./mcp-web/listeners.js";
import { loadCore } from "./mcp-web/load.js";
import { bridgeUrl, checkedOptions } from "./mcp-web/options.js";
import { Query, uuidOf } from "./mcp-web/query.js";
import { TabSession } from "./mcp-web/session.js";
import { keptToken } from "./mcp-web/token.js";
import { Walls } from "./mcp-web/walls.js";

export { McpWebError, content };

/** The bridge tells pages and AI clients the same about a token; a page has it from its own option. */
const inWordsOfThePage = (code, message) =>
  /^(InvalidAuthentication|TokenExpired)$/.test(code) ? `${message} (authToken of new McpWeb())` : message;

const importGlue = () => import("./mcp_web_core.js");
const importAdvice = () => import("./mcp-web-advice.js");
const importImages = () => import("./mcp-web-images.js");
const importDialog = () => import("./mcp-web-dialog.js");
const importDiagnosis = () => import("./mcp-web-diagnose.js");

export class McpWeb {
  #options;
  #bridgeUrl;
  /** Which session this tab is; nothing on a server. */
  #session;
  #sessionName;
  #token;
  #status = Object.freeze({ state: "idle" });
  #clients = Object.freeze([]);
  #statusListeners = new Set();
  #clientsListeners = new Set();
  #definitions;
  #calls;
  /** What this page asks agents, once it has asked. */
  #queries;
  /** The largest message that the bridge takes. */
  #maxMessageBytes;
  /** The wasm connection, once it is loaded. */
  #connection;
  #loading;
  /** Those who wait for `connect()`. */
  #waiting = [];
  /** What the connection says goes through here to the status. */
  #walls;

  constructor(options) {
    this.#options = checkedOptions(options);
    this.#bridgeUrl = bridgeUrl(options.bridgeUrl, import.meta.url);
    this.#sessionName = options.sessionName;
    this.#definitions = new Definitions({
      importAdvice,
      resourceUpdated: (uri) => this.notifyResourceUpdated(uri),
      failure: () => (this.#status.state === "failed" ? this.#status.error : undefined),
    });
    this.#calls = new Calls((key) => this.#definitions.get(key), this.#port());
    if (!inBrowser) return;
    this.#session = new TabSession(options, this.#bridgeUrl);
    this.#walls = new Walls(importDiagnosis, {
      bridgeUrl: this.#bridgeUrl,
      error: (code, message) => new McpWebError(code, message),
      show: (status) => this.#setStatus(status),
      stop: () => this.#connection.disconnect(),
      retry: () => this.#start(),
    });
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
    return this.#session?.id ?? this.#options.sessionId;
  }

  get sessionName() {
    return this.#sessionName;
  }

  get authToken() {
    return this.#token;
  }

  get bridgeUrl() {
    return this.#bridgeUrl;
  }

  get mcpConfig() {
    return this.#token && stdioConfig(this.#options.name, this.#bridgeUrl, this.#token);
  }

  get remoteMcpConfig() {
    return this.#token && httpConfig(this.#options.name, this.#bridgeUrl, this.#token);
  }

  onStatusChange(listener) {
    return subscribe(this.#statusListeners, listener, "onStatusChange");
  }

  onClientsChange(listener) {
    return subscribe(this.#clientsListeners, listener, "onClientsChange");
  }

  onCall(listener) {
    return this.#calls.subscribe(listener);
  }

  addTool(definition, options) {
    return this.#definitions.add("tool", definition, options);
  }

  addResource(definition, options) {
    return this.#definitions.add("resource", definition, options);
  }

  addResourceTemplate(definition, options) {
    return this.#definitions.add("resource-template", definition, options);
  }

  addPrompt(definition, options) {
    return this.#definitions.add("prompt", definition, options);
  }

  addApp(definition, options) {
    const { name } = this.#options;
    const { tool, resource } = appParts(definition, name);
    checked("tool", tool);
    const ui = this.#definitions.add("resource", resource, options);
    return new AppHandle(this.#definitions.add("tool", tool, options), ui, (changes) => {
      const changed = { ...definition, ...changes };
      const parts = appParts(changed, name);
      definition = changed;
      return parts;
    });
  }

  query(options, { signal } = {}) {
    const uuid = uuidOf(randomHex(16));
    return new Query(uuid, this.#asking(options), (queries, json) => queries.ask(uuid, options, json, signal));
  }

  attachQuery(uuid, { signal } = {}) {
    return new Query(uuid, this.#asking(), (queries) => queries.attach(uuid, signal));
  }

  get openQueries() {
    return [...(this.#session?.queries ?? [])];
  }

  /** What a query needs to begin. The app may go on changing what it has passed: it is asked as it is now. */
  async #asking(asked) {
    const wrong = (message) => new McpWebError("QueryInvalid", message);
    const json = jsonOf(asked, "the query", wrong, (_, value) => value ?? null);
    if (!inBrowser) throw new McpWebError("NotInBrowser", "a query needs a browser: this code runs on a server");
    if (!this.#queries) {
      const { Queries } = await loaded(import("./mcp-web-query.js"), "query", "Query");
      this.#queries ??= new Queries(this, this.#session, {
        ...this.#port(),
        McpWebError,
        toolAnswer,
        tools: () => this.#definitions.all,
        send: (json) => this.#connection.query(json),
        maxBytes: () => this.#maxMessageBytes,
      });
    }
    return [this.#queries, json];
  }

  notifyResourceUpdated(uri) {
    this.#connection?.resourceUpdated(String(uri));
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
    this.#walls?.forget();
    this.#queries?.leave();
    if (this.#connection) this.#connection.disconnect();
    else if (inBrowser) this.#setStatus({ state: "disconnected" });
    return Promise.resolve();
  }

  /** What stands between this page and its bridge. */
  async diagnose() {
    const { diagnose } = await loaded(importDiagnosis(), "diagnose", "Diagnosis");
    const { storage = "local" } = this.#options;
    return diagnose({
      bridgeUrl: this.#bridgeUrl,
      status: this.#status,
      sessionId: this.sessionId,
      sessionName: this.#sessionName,
      storage,
      token: this.#token,
      tokenIsFetched: this.#renewable,
      definitions: this.#definitions.all,
    });
  }

  #start() {
    this.#adviseOne();
    this.#walls.forget();
    if (this.#connection) return this.#connection.connect();
    this.#setStatus({ state: "loading" });
    this.#loading ??= this.#load();
  }

  /** An app that names its sessions wants several. */
  #adviseOne() {
    const { name, sessionId, sessionName } = this.#options;
    if (sessionId || sessionName) return;
    const app = JSON.stringify([name, this.#bridgeUrl, this.#token]);
    advise(importAdvice, ({ adviseOne }) => adviseOne(this, name, app));
  }

  async #load() {
    try {
      const { Connection } = await loadCore(importGlue, new URL("./mcp_web_core_bg.wasm", import.meta.url));
      this.#connection = new Connection(this.#host(), this.#facts());
    } catch (error) {
      // Before anyone hears of it: they may connect() again at once.
      this.#loading = undefined;
      this.#definitions.unavailable(error);
      if (this.#status.state === "loading") this.#setStatus({ state: "failed", error });
      return;
    }
    this.#definitions.connectThrough(this.#connection);
    // The app may have changed its mind while the wasm was on its way.
    if (this.#status.state === "loading") this.#connection.connect();
  }

  #facts() {
    const { name, description, version, icon, sessionName } = this.#options;
    const { document, location, navigator } = globalThis;
    return {
      bridgeUrl: this.#bridgeUrl,
      socketUrl: this.#socketUrl(),
      sessionId: this.sessionId,
      sessionName,
      renewable: this.#renewable,
      app: JSON.stringify({ name, description, version, icon }),
      origin: location?.origin,
      documentId: randomHex(8),
      userAgent: navigator?.userAgent,
      document,
    };
  }

  #socketUrl() {
    const socket = new URL(`${this.#bridgeUrl}/ws`);
    socket.protocol = socket.protocol.replace("http", "ws");
    socket.searchParams.set("session", this.sessionId);
    return socket.href;
  }

  /** Whether a fresh token can be had. */
  get #renewable() {
    return typeof this.#options.authToken === "function";
  }

  /** Another tab is this session now, such as a copy of this one: this tab goes on as a session of its own. */
  #becomeAnother(error) {
    this.#setStatus({ state: "reconnecting", error });
    this.#connection.setSession(this.#session.renew(), this.#socketUrl());
    this.#connection.connect();
  }

  /** What the wasm tells this module. */
  #host() {
    return {
      token: () => this.#freshToken(),
      status: (state, code, message, retryInMs) => {
        const status = { state };
        if (code) status.error = new McpWebError(code, inWordsOfThePage(code, message));
        if (retryInMs !== undefined) status.retryInMs = retryInMs;
        if (state === "failed" && code === "SessionSuperseded" && !this.#session.given) this.#becomeAnother(status.error);
        else this.#walls.heard(status);
      },
      welcomed: (sessionName, maxMessageBytes) => {
        this.#sessionName = sessionName;
        this.#maxMessageBytes = maxMessageBytes;
      },
      query: (message) => this.#queries?.heard(message),
      clients: (clients) => {
        this.#clients = Object.freeze(clients ?? []);
        notify(this.#clientsListeners, this.#clients);
      },
      ...this.#definitions.host,
      ...this.#calls.host,
      warn: (message) => console.warn(`mcp-web: ${message}`),
    };
  }

  async #freshToken() {
    if (!this.#renewable) return this.#token;
    const token = await this.#options.authToken();
    if (typeof token !== "string" || !token) throw new TypeError("it must return a non-empty string");
    return (this.#token = token);
  }

  #setStatus(status) {
    this.#status = Object.freeze(status);
    const { state, error } = status;
    if (state === "connected" || state === "failed" || state === "disconnected") {
      const waiting = this.#waiting;
      this.#waiting = [];
      const reason = error ?? new McpWebError("Disconnected", "disconnect() was called");
      for (const { resolve, reject } of waiting) state === "connected" ? resolve() : reject(reason);
      if (state === "failed" && !waiting.length) console.error(`mcp-web: ${error.message}`);
    }
    notify(this.#statusListeners, this.#status);
  }

  /** What calls may use of this page. */
  #port() {
    const { name, elicitInPage } = this.#options;
    return {
      progress: (...report) => this.#connection.progress(...report),
      log: (...entry) => this.#connection.log(...entry),
      ask: (...request) => this.#connection.ask(...request),
      elicitInPage,
      importImages,
      dialog: (request, signal) => askInPage(importDialog, { ...request, appName: name }, signal),
    };
  }
}

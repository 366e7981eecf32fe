/**
 * Lets AI clients use this page through the tools, prompts and resources that it registers.
 *
 * ```js
 * import { McpWeb } from "http://localhost:3001/sdk/mcp-web.js"; // or from "mcp-web-sdk"
 *
 * const mcpWeb = new McpWeb({ name: "My board", description: "A kanban board" });
 *
 * mcpWeb.addTool({
 *   name: "add_card",
 *   description: "Adds a card to a column of the board",
 *   inputSchema: {
 *     type: "object",
 *     properties: { title: { type: "string" }, column: { enum: ["todo", "doing", "done"] } },
 *     required: ["title"],
 *   },
 *   handler: async ({ title, column = "todo" }) => board.add(title, column),
 * });
 * ```
 *
 * Importing the module and creating a `McpWeb` on a server has no effect: nothing is loaded, the status stays `idle`, and
 * added items are stored but never registered.
 *
 * @packageDocumentation
 */

import type { WebMcp } from "./mcp-web-model-context.ts";
import type { Queries } from "./mcp-web-query.ts";
import type { TokenFunction } from "./mcp-web-token-function.ts";
import type { CallEvent } from "./types/calls.ts";
import type { Conversation, ConversationOptions, ConversationSummary } from "./types/conversation.ts";
import type {
  AppDefinition,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "./types/definitions.ts";
import type { AddOptions, AppHandle, PromptHandle, ResourceHandle, ResourceTemplateHandle, ToolHandle } from "./types/handles.ts";
import type { InferInput, ToolSchema } from "./types/infer.ts";
import type { HttpMcpConfig, McpWebOptions, StdioMcpConfig, Unsubscribe } from "./types/options.ts";
import type { AttachOptions, Query, QueryOptions, QuerySignal } from "./types/query.ts";
import type { ConnectedClient, Diagnosis, Status } from "./types/status.ts";
import { canShareTools } from "./webmcp/can-share-tools.ts";
import { AddedApp, appParts } from "./mcp-web/app.ts";
import { type CoreStatus, RestrictionMonitor } from "./mcp-web/browser-restrictions.ts";
import { Calls } from "./mcp-web/calls.ts";
import { httpConfig, stdioConfig } from "./mcp-web/client-config.ts";
import { ConnectionState } from "./mcp-web/connection-state.ts";
import { content } from "./mcp-web/content.ts";
import type { CoreConnection } from "./mcp-web/core.ts";
import { Definitions } from "./mcp-web/definitions.ts";
import { canConnect, hostEnvironment } from "./mcp-web/environment.ts";
import { McpWebError, notInBrowser } from "./mcp-web/error.ts";
import { importDiagnosis, loadModule } from "./mcp-web/lazy.ts";
import { loadCore } from "./mcp-web/load.ts";
import { nextTask } from "./mcp-web/next-task.ts";
import { addOptionName, resolveBridgeUrl, validateOptions } from "./mcp-web/options.ts";
import { pageInfo, socketUrl } from "./mcp-web/page-info.ts";
import { PageQueries } from "./mcp-web/page-queries.ts";
import { type HandedOver, type PageEntry, pageKey, pageRegistry } from "./mcp-web/page-registry.ts";
import { callPort, queriesPort } from "./mcp-web/ports.ts";
import { attachPage } from "./mcp-web/attach-page.ts";
import { TabSession } from "./mcp-web/tab-session.ts";
import { storedToken } from "./mcp-web/token.ts";
import { validateDefinition } from "./mcp-web/validation.ts";
import { VERSION } from "./mcp-web/version.ts";
import { wasmSource } from "./mcp-web/wasm-source.ts";

export type * from "./types/index.ts";
export { McpWebError, content };

/**
 * A page's connection to a bridge, and the items that it offers.
 *
 * It can be used immediately: operations before the wasm is loaded run as soon as it is. Broken connections are restored
 * automatically, with increasing delays (at most 15 s), and immediately when the tab becomes visible or the network is
 * back. All added items are then registered again.
 *
 * A page needs only one. Creating another for the same app returns the existing one, even if modules are replaced while the
 * page runs, or if the page contains two copies of the SDK. An app that needs several sessions in one page sets a different
 * `sessionName` for each.
 */
export class McpWeb {
  #options: McpWebOptions;
  readonly #bridgeUrl: string;
  /** The session of this tab; `undefined` on a server. */
  readonly #session: TabSession | undefined;
  #sessionName: string | undefined;
  #token: string | undefined;
  readonly #callPort = callPort(() => this.#options, () => this.#connection!);
  readonly #state = new ConnectionState();
  readonly #definitions: Definitions;
  readonly #calls: Calls;
  readonly #queries = new PageQueries(
    (constructor) =>
      new constructor(
        this,
        this.#session!,
        queriesPort(this.#callPort, () => this.#options, this.#definitions, () => this.#maxMessageBytes),
      ),
    () => this.#options.approvals,
  );
  /** Maximum size of a message that the bridge accepts. */
  #maxMessageBytes: number | undefined;
  /** Calls the function in `authToken`, if it is one. Loaded with the wasm. */
  #tokenFunction: TokenFunction | undefined;
  /** The wasm connection, once it is loaded. */
  #connection: CoreConnection | undefined;
  #loading: Promise<void> | undefined;
  /** Shares tools with the browser, once the browser has an API for that. */
  #webMcp: Promise<WebMcp> | undefined;
  /** Every status of the connection passes through it to the app; `undefined` on a server. */
  readonly #restrictions: RestrictionMonitor | undefined;

  /**
   * Returns the existing `McpWeb` of this document for the app, if there is one: with the same bridge, `name`, `sessionId`,
   * `sessionName` and `authToken` (functions count as equal). It adopts the new options except the description of the app
   * (`description`, `version`, `icon`), and connects unless `autoConnect` is `false`.
   *
   * @throws TypeError if an option has the wrong type, or `bridgeUrl` is not a URL.
   */
  constructor(options: McpWebOptions);
  /** @internal Creates the `McpWeb` that replaces one of another copy. */
  constructor(options: McpWebOptions, takenKey: string);
  constructor(options: McpWebOptions, takenKey?: string) {
    this.#options = validateOptions(options);
    this.#bridgeUrl = resolveBridgeUrl(options.bridgeUrl, import.meta.url);
    this.#sessionName = options.sessionName;
    this.#definitions = new Definitions({
      resourceUpdated: (uri) => this.notifyResourceUpdated(uri),
      failure: () => (this.status.state === "failed" ? this.status.error : undefined),
    });
    this.#calls = new Calls((key) => this.#definitions.get(key)!, this.#callPort);
    if (!canConnect) return;
    const key = takenKey ?? pageKey(this.#bridgeUrl, options);
    const existing = takenKey === undefined && attachPage(key, this.#options, (options) => new McpWeb(options, key));
    if (existing) return existing as McpWeb;
    pageRegistry().set(key, this.#registryEntry());
    this.#session = new TabSession(options, this.#bridgeUrl);
    this.#restrictions = new RestrictionMonitor({
      bridgeUrl: this.#bridgeUrl,
      McpWebError,
      show: (status) => this.#state.setStatus(status),
      stop: () => this.#connection?.disconnect(),
      retry: () => this.#start(),
    });
    if (typeof options.authToken !== "function") {
      this.#token = options.authToken ?? storedToken(this.#bridgeUrl, options.storage);
    }
    if (options.autoConnect !== false) this.#start();
  }

  /** The state of the connection. A new frozen object for each change. */
  get status(): Status {
    return this.#state.status;
  }

  /** The AI clients that are connected for this token, in order of connection; empty while not connected. */
  get clients(): readonly ConnectedClient[] {
    return this.#state.clients;
  }

  /** The session of this tab; `undefined` on a server unless given. It changes if another tab takes over the session. */
  get sessionId(): string | undefined {
    return this.#session?.id ?? this.#options.sessionId;
  }

  /** The name of this tab's session: the given one, and once connected the one that the bridge assigned. */
  get sessionName(): string | undefined {
    return this.#sessionName;
  }

  /**
   * The token in use. A token given as a string or generated here is available from the start. With a function, it is
   * `undefined` until the function has first returned one, after which the status changes. On a server it is `undefined`
   * unless given as a string.
   */
  get authToken(): string | undefined {
    return this.#token;
  }

  /** The bridge's address, without a trailing slash. */
  get bridgeUrl(): string {
    return this.#bridgeUrl;
  }

  /**
   * The configuration for a client that starts servers as processes, such as Claude Desktop. `undefined` while
   * {@link McpWeb.authToken} is. It contains the token.
   *
   * @example
   * ```js
   * element.textContent = JSON.stringify(mcpWeb.mcpConfig, null, 2);
   * ```
   */
  get mcpConfig(): StdioMcpConfig | undefined {
    return this.#token === undefined ? undefined : stdioConfig(this.#options.name, this.#bridgeUrl, this.#token);
  }

  /**
   * The configuration for a client that uses Streamable HTTP. `undefined` while {@link McpWeb.authToken} is. It contains
   * the token.
   */
  get remoteMcpConfig(): HttpMcpConfig | undefined {
    return this.#token === undefined ? undefined : httpConfig(this.#options.name, this.#bridgeUrl, this.#token);
  }

  /**
   * Registers a callback that is called when {@link McpWeb.status} changes.
   *
   * @returns A function that ends the subscription.
   */
  onStatusChange(listener: (status: Status) => void): Unsubscribe {
    return this.#state.onStatusChange(listener);
  }

  /**
   * Registers a callback that is called when {@link McpWeb.clients} changes.
   *
   * @returns A function that ends the subscription.
   */
  onClientsChange(listener: (clients: readonly ConnectedClient[]) => void): Unsubscribe {
    return this.#state.onClientsChange(listener);
  }

  /**
   * Registers a callback that is called for every call: once when it starts, and once when it ends.
   *
   * @returns A function that ends the subscription.
   */
  onCall(listener: (event: CallEvent) => void): Unsubscribe {
    return this.#calls.subscribe(listener);
  }

  /** Returns whether the page offers a tool with this name. */
  hasTool(name: string): boolean {
    return this.#definitions.all.some(({ kind, id, isRemoved }) => kind === "tool" && id === name && !isRemoved);
  }

  /**
   * Offers a tool to AI clients. Adding the same name again replaces the tool at its position; the former handle then has
   * no effect. Fields other than `handler` are passed on unchanged.
   *
   * Items that are added in one task are registered together.
   *
   * @example
   * ```js
   * const tool = mcpWeb.addTool({ name: "count_cards", handler: () => ({ count: board.size }) });
   * await tool.registered;
   * await tool.remove();
   * ```
   * @throws TypeError if the definition is not a valid tool: it has no name or no handler, a schema without a JSON Schema,
   * or a value that is not JSON. Reasons that only the bridge can check (a reserved name, a limit) reject
   * {@link Handle.registered}.
   */
  addTool<
    const InputSchema extends ToolSchema | undefined = undefined,
    const OutputSchema extends ToolSchema | undefined = undefined,
    Value = unknown,
  >(
    definition: ToolDefinition<InputSchema, OutputSchema, Value>,
    options?: AddOptions,
  ): ToolHandle<InputSchema, OutputSchema> {
    return this.#definitions.add("tool", definition, options);
  }

  /**
   * Offers a resource: content that clients can read, and whose changes they can subscribe to. Adding the same `uri` again
   * replaces it at its position. Fields other than functions are passed on unchanged.
   *
   * @example
   * ```js
   * const cards = mcpWeb.addResource({
   *   uri: "board://cards",
   *   name: "cards",
   *   mimeType: "application/json",
   *   read: () => board.cards,
   * });
   * board.onChange(() => cards.notifyUpdated());
   * ```
   * @throws TypeError if the definition is not a valid resource: no absolute `uri`, no `name`, no `read`.
   */
  addResource(definition: ResourceDefinition, options?: AddOptions): ResourceHandle {
    return this.#definitions.add("resource", definition, options);
  }

  /**
   * Offers all resources whose URIs match a template (RFC 6570: `{x}`, `{+x}`, `{/x}`, `{?a,b}`). Resources that were added
   * with a fixed URI take precedence.
   *
   * @example
   * ```js
   * mcpWeb.addResourceTemplate({
   *   uriTemplate: "board://cards/{id}",
   *   name: "card",
   *   read: (uri, { id }) => board.card(id),
   *   complete: { id: (value) => board.ids().filter((id) => id.startsWith(value)) },
   * });
   * ```
   * @throws TypeError if the definition is not a valid template: no variable in `uriTemplate`, no `name`, no `read`.
   */
  addResourceTemplate<const Template extends string>(
    definition: ResourceTemplateDefinition<Template>,
    options?: AddOptions,
  ): ResourceTemplateHandle<Template> {
    return this.#definitions.add("resource-template", definition, options);
  }

  /**
   * Offers a prompt: messages that a person chooses to send, with arguments filled in. Adding the same name again replaces
   * it at its position.
   *
   * @example
   * ```js
   * mcpWeb.addPrompt({
   *   name: "review",
   *   arguments: [{ name: "card", required: true, complete: (value) => board.titles(value) }],
   *   get: ({ card }) => `Review the card "${card}" and say what is missing.`,
   * });
   * ```
   * @throws TypeError if the definition is not a valid prompt: no name, no `get`, arguments without names.
   */
  addPrompt<const Argument extends string>(
    definition: PromptDefinition<Argument>,
    options?: AddOptions,
  ): PromptHandle<Argument> {
    return this.#definitions.add("prompt", definition, options);
  }

  /**
   * Offers an MCP App (extension `io.modelcontextprotocol/ui`, SEP-1865): a tool, and a page that a host shows with its
   * result. The page is a resource `ui://<app>/<tool>`, which the tool's `_meta.ui.resourceUri` names.
   *
   * @example
   * ```js
   * mcpWeb.addApp({
   *   name: "burndown",
   *   description: "Shows the burndown chart",
   *   url: "/burndown.html",
   *   handler: () => ({ structuredContent: board.burndown(), content: [] }),
   * });
   * ```
   * @throws TypeError if the definition is not a valid app: neither or both of `html` and `url`, a `url` of another origin,
   * a `csp`, `permissions` or `domain` that no host understands, or for the reasons of {@link McpWeb.addTool}.
   */
  addApp<
    const InputSchema extends ToolSchema | undefined = undefined,
    const OutputSchema extends ToolSchema | undefined = undefined,
    Value = unknown,
  >(
    definition: AppDefinition<InputSchema, OutputSchema, Value>,
    options?: AddOptions,
  ): AppHandle<InputSchema, OutputSchema> {
    const { name } = this.#options;
    const { tool, resource } = appParts(definition, name);
    validateDefinition("tool", tool);
    const ui = this.#definitions.add("resource", resource, options);
    return new AddedApp(this.#definitions.add("tool", tool, options), ui, (changes) => {
      const changed = { ...definition, ...changes };
      const parts = appParts(changed, name);
      definition = changed;
      return parts;
    });
  }

  /**
   * Sends a query to the bridge's agent, which uses this page's tools to answer.
   *
   * Never throws: invalid options reject {@link Query.result}, like any other failure. A query waits for the connection,
   * and survives its breaks. With `autoConnect: false`, it waits for {@link McpWeb.connect}. The first call loads
   * `mcp-web-query.js`.
   *
   * @example
   * ```js
   * const { text } = await mcpWeb.query({ prompt: "Summarise the board" }).result;
   * ```
   * @example A call of one of the page's tools instead of words
   * ```js
   * const controller = new AbortController();
   * const query = mcpWeb.query(
   *   { prompt: "Plan my day", context: [listCards], responseTool: orderCards, timeout: 60_000 },
   *   { signal: controller.signal },
   * );
   * const { response } = await query.result; // orderCards has run: { arguments, result }
   * ```
   */
  query<const Schema extends ToolSchema>(
    options: QueryOptions & { responseSchema: Schema },
    signal?: QuerySignal,
  ): Query<any, InferInput<Schema>>;
  query<Arguments extends object = any>(options: QueryOptions, signal?: QuerySignal): Query<Arguments>;
  query(options: QueryOptions, signal?: QuerySignal): Query {
    return this.#queries.query(options, signal);
  }

  /**
   * Returns a conversation, whose queries know the earlier ones. The agent stores it for the user and the app: in memory,
   * unless its operator configures a file.
   */
  conversation(options?: ConversationOptions): Conversation {
    return this.#queries.conversation(options);
  }

  /** Returns the conversations of the user with this app, the latest first. */
  conversations(): Promise<ConversationSummary[]> {
    return this.#queries.stored("list");
  }

  /**
   * Resumes a query that another document of this tab has sent, before a reload. It reports the progress that the bridge
   * has stored (at most 256 KiB), and continues. Queries of this document are also found. The bridge waits for this (30 s
   * by default) before it cancels the query. A query that it no longer knows fails with `QueryNotFound`.
   *
   * Add the page's tools first, because calls that the agent has made meanwhile are waiting for them.
   *
   * @example
   * ```js
   * for (const uuid of mcpWeb.openQueries) show(mcpWeb.attachQuery(uuid));
   * ```
   */
  attachQuery<Arguments extends object = any>(uuid: string, options?: AttachOptions): Query<Arguments> {
    return this.#queries.attach(uuid, options);
  }

  /**
   * The queries of this tab that have not ended, as far as the tab knows, including those of the document before a reload.
   * A tab that was duplicated, or opened from this one, has none of them.
   */
  get openQueries(): string[] {
    return [...(this.#session?.queries ?? [])];
  }

  /**
   * Notifies subscribed clients that the content of a resource has changed: an added one, or one that matches a template.
   * Several changes in one task are sent once. While the connection is broken, the latest 256 changes are remembered.
   */
  notifyResourceUpdated(uri: string | URL): void {
    this.#connection?.resourceUpdated(String(uri));
  }

  /**
   * Connects, also after {@link McpWeb.disconnect} and after a final failure. During a backoff, the next attempt starts
   * immediately.
   *
   * @returns A promise that is fulfilled once connected. It stays pending while the status is `reconnecting`, and is
   * rejected with a {@link McpWebError} when the status becomes `failed` or `disconnected`.
   */
  async connect(): Promise<void> {
    if (!canConnect) throw notInBrowser("connect()");
    if (this.status.state === "connected") return this.#shareTools();
    const connected = this.#state.nextLasting();
    this.#start();
    return connected;
  }

  /** Disconnects, and cancels running calls. The added items stay, and are registered again by `connect()`. */
  async disconnect(): Promise<void> {
    this.#restrictions?.reset();
    this.#queries.loaded?.disconnect();
    if (this.#connection) this.#connection.disconnect();
    else if (canConnect) this.#state.setStatus({ state: "disconnected" });
  }

  /**
   * Diagnoses the connection between this page and its bridge, for a developer or a bug report. The result does not contain
   * the token. Loads `mcp-web-diagnose.js`; rejected with `DiagnosisUnavailable` if that cannot be loaded.
   *
   * @example
   * ```js
   * const { ok, summary } = await mcpWeb.diagnose();
   * if (!ok) console.log(summary);
   * ```
   */
  async diagnose(): Promise<Diagnosis> {
    const { diagnose } = await loadModule(importDiagnosis(), "diagnose", "Diagnosis");
    return diagnose(this, this.#options, this.#definitions.all);
  }

  #start(): void {
    this.#restrictions?.reset();
    this.#shareTools();
    if (this.#connection) return this.#connection.connect();
    this.#state.setStatus({ state: "loading" });
    this.#loading ??= this.#load();
  }

  /** Shares tools with the browser (WebMCP) if it has an API for that, and the page may use it. */
  #shareTools(): void {
    const webmcp = () => !this.#state.isReplaced && this.#options.webmcp;
    if (webmcp() !== false && canShareTools()) {
      this.#webMcp ??= import("./mcp-web-model-context.ts").then(
        ({ WebMcp }) => new WebMcp(this, this.#definitions, this.#calls.hostBindings, webmcp),
      );
    }
    this.#webMcp?.then((webMcp) => webMcp.update(), () => {});
  }

  /** The interface of this object for other copies of the SDK. */
  #registryEntry(): PageEntry {
    return {
      version: VERSION,
      page: this,
      attach: (options) => {
        this.#options = { ...this.#options, ...options };
        this.#tokenFunction?.onReplaced();
        if (options.autoConnect !== false && /idle|disconnected|failed/.test(this.status.state)) this.#start();
      },
      isIdle: () => this.#calls.isIdle && this.#queries.loaded?.isIdle !== false,
      handOver: () => this.#handOver(),
    };
  }

  #handOver(): HandedOver {
    const { state } = this.status;
    const options = {
      ...this.#options,
      authToken: this.#options.authToken ?? this.#token!,
      autoConnect: !/idle|disconnected/.test(state),
      ...(!this.#session!.release() && { sessionId: this.#session!.id }),
    };
    const { waiting, notify } = this.#state.handOver();
    this.#shareTools();
    this.disconnect();
    return {
      options,
      waiting,
      definitions: this.#definitions.handOver(),
      notify: { ...notify, call: (event) => this.#calls.notify(event) },
    };
  }

  async #load(): Promise<void> {
    // While the document is loading, scripts may add the API for tools to the browser, or replace it.
    for (const event of ["DOMContentLoaded", "load"]) globalThis.addEventListener?.(event, () => this.#shareTools());
    try {
      const { authToken, wasm } = this.#options;
      const [{ Connection }, tokens] = await Promise.all([
        loadCore(wasmSource, wasm),
        typeof authToken === "function" ? loadModule(import("./mcp-web-token-function.ts"), "token-function", "Token") : undefined,
      ]);
      const { openSocket } = hostEnvironment(this.#options);
      this.#tokenFunction = tokens && new tokens.TokenFunction(openSocket, () => this.#options, (token) => (this.#token = token));
      this.#connection = new Connection(this.#hostBindings(), pageInfo(this.#options, this.#bridgeUrl, this.#session!.id));
    } catch (error) {
      // This must precede the change of the status, because listeners may call connect() again immediately.
      this.#loading = undefined;
      this.#definitions.onUnavailable(error);
      if (this.status.state === "loading") this.#state.setStatus({ state: "failed", error: error as McpWebError });
      return;
    }
    this.#definitions.connectThrough(this.#connection);
    // The app may have called disconnect() while the wasm was loaded.
    if (this.status.state === "loading") this.#connection.connect();
  }

  /** Another tab has taken over the session, for example a copy of this one. This tab continues with a new session. */
  #renewSessionId(error: McpWebError): void {
    this.#state.setStatus({ state: "reconnecting", error });
    this.#connection!.setSession(this.#session!.renew(), socketUrl(this.#bridgeUrl, this.#session!.id));
    this.#connection!.connect();
  }

  /** The callbacks of the wasm. The crate's `js_imports.rs` has the same names. */
  #hostBindings() {
    return {
      token: async () => this.#token,
      status: (state: Status["state"], code?: string, message = "", retryInMs?: number) => {
        const status: CoreStatus = { state };
        if (code) status.error = new McpWebError(code, addOptionName(code, message));
        if (retryInMs !== undefined) status.retryInMs = retryInMs;
        if (state === "failed" && code === "SessionSuperseded" && !this.#session!.given) this.#renewSessionId(status.error!);
        else this.#restrictions!.onStatus(status);
      },
      welcomed: (sessionName: string | undefined, maxMessageBytes: number) => {
        this.#sessionName = sessionName;
        this.#maxMessageBytes = maxMessageBytes;
      },
      query: (message: Parameters<Queries["onMessage"]>[0]) => this.#queries.loaded?.onMessage(message),
      clients: (clients: ConnectedClient[] = []) => this.#state.setClients(clients),
      scheduleTask: () => nextTask().then(() => this.#connection!.taskEnded()),
      ...this.#definitions.hostBindings,
      ...this.#calls.hostBindings,
      ...hostEnvironment(this.#options),
      ...this.#tokenFunction?.hostBindings,
      warn: (message: string) => console.warn(`mcp-web: ${message}`),
    };
  }
}

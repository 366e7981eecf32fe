/// <reference lib="esnext.disposable" />

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
 * Importing the module and making a `McpWeb` is harmless on a server: nothing is loaded, the status
 * stays `idle`, and what is added is remembered and never registered.
 *
 * @packageDocumentation
 */

import type {
  AppDefinition,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "./mcp-web.definitions.js";
import type { CallContext, CallEvent } from "./mcp-web.calls.js";
import type {
  AddOptions,
  AppHandle,
  Handle,
  PromptHandle,
  ResourceHandle,
  ResourceTemplateHandle,
  ToolHandle,
} from "./mcp-web.handles.js";
import type { Query, QueryOptions, QuerySignal } from "./mcp-web.query.js";
import type { ConnectedClient, Diagnosis, McpWebError, Status } from "./mcp-web.status.js";

export * from "./mcp-web.calls.js";
export * from "./mcp-web.content.js";
export * from "./mcp-web.definitions.js";
export * from "./mcp-web.handles.js";
export * from "./mcp-web.query.js";
export * from "./mcp-web.status.js";

/** How the app presents itself, and which bridge it uses. */
export interface McpWebOptions {
  /** The app's name, as people know it. */
  name: string;
  /** What the app is for, in words that help a model decide when to use it. */
  description?: string;
  /** The app's version. */
  version?: string;
  /** URL of the app's icon. One with more than 32,768 characters is left out, with a warning in the console. */
  icon?: string;
  /**
   * Where the bridge is: `http`, `https`, `ws` or `wss`, with a path if it has one.
   *
   * @defaultValue The origin this module was loaded from if a bridge served it (its path begins with
   * `/sdk/`), else `http://localhost:3001`.
   */
  bridgeUrl?: string;
  /**
   * The token that pages and AI clients share: whoever has it may call the tools. At least 16
   * characters. A function is asked again before every connection, and before a token that ends does,
   * so it can return a fresh one; when it fails, it is asked again after a while, and the status says why.
   *
   * @defaultValue 192 random bits, kept under the key `mcp-web:token:<bridgeUrl>` in the storage
   * named by {@link McpWebOptions.storage}.
   */
  authToken?: string | (() => string | Promise<string>);
  /**
   * Where a token that this module made is kept: in `localStorage` (all tabs of the app share it, and
   * it outlives them), in `sessionStorage` (this tab only), or nowhere (this document only). With `"none"`,
   * {@link McpWeb.sessionId} is not kept either.
   *
   * @defaultValue `"local"`
   */
  storage?: "local" | "session" | "none";
  /**
   * The session of this tab: at most 128 bytes. A connection with the same id and token takes over the
   * session of an older one, whose status becomes `failed` (`SessionSuperseded`).
   *
   * @defaultValue 128 random bits. They stay with the tab over reloads (`sessionStorage`, under the key
   * `mcp-web:session:<bridgeUrl>:<name>`, while no document of the app is there); a tab that was duplicated,
   * or opened from this one, has others. Should two tabs have the same after all, the older one goes on with others.
   */
  sessionId?: string;
  /**
   * A name for this tab, which a client can choose it by. Where another session of the token has it, the bridge gives
   * this one a number ({@link McpWeb.sessionName}), or refuses it if it is so configured.
   */
  sessionName?: string;
  /**
   * Whether to connect at once. Otherwise nothing is loaded before {@link McpWeb.connect}.
   *
   * @defaultValue `true`
   */
  autoConnect?: boolean;
  /**
   * Whether {@link CallContext.elicit} may ask the user in this page, in an accessible dialog that is loaded when it
   * is first needed: never; when the client lacks the elicitation that is needed (several desktop clients have none);
   * or always. A dialog cannot be shown in a worker.
   *
   * @defaultValue `"never"`
   */
  elicitInPage?: "never" | "fallback" | "always";
}

/**
 * A page's connection to a bridge, and what it offers.
 *
 * Works at once: what is asked before the wasm is loaded is done as soon as it is. Connections that
 * break come back by themselves, with growing waits (at most 15 s), and at once when the tab becomes
 * visible or the network is back; all that was added is registered again.
 *
 * A page needs one. Where modules are replaced while the page runs, keep it:
 * `import.meta.hot?.data.mcpWeb ?? new McpWeb({ … })`, see the README.
 */
export class McpWeb {
  /**
   * @throws TypeError when an option has the wrong type, or `bridgeUrl` is no URL.
   */
  constructor(options: McpWebOptions);

  /** The state of the connection. A new frozen object for each change. */
  readonly status: Status;
  /**
   * Hears every change of {@link McpWeb.status}.
   *
   * @returns A function that ends the subscription.
   */
  onStatusChange(listener: (status: Status) => void): Unsubscribe;

  /** The AI clients that are connected for this token, in order of connection; empty while not connected. */
  readonly clients: readonly ConnectedClient[];
  /**
   * Hears every change of {@link McpWeb.clients}.
   *
   * @returns A function that ends the subscription.
   */
  onClientsChange(listener: (clients: readonly ConnectedClient[]) => void): Unsubscribe;

  /**
   * Hears of every call: once when it starts, once when it ends.
   *
   * @returns A function that ends the subscription.
   */
  onCall(listener: (event: CallEvent) => void): Unsubscribe;

  /**
   * Offers a tool to AI clients. The same name again replaces the tool in its place; the former handle
   * then does nothing. Fields other than `handler` are passed on as they are.
   *
   * What is added in one task is registered together.
   *
   * @example
   * ```js
   * const tool = mcpWeb.addTool({ name: "count_cards", handler: () => ({ count: board.size }) });
   * await tool.registered;
   * await tool.remove();
   * ```
   * @throws TypeError when the definition cannot be a tool: no name, no handler, a schema that is not a
   * plain object, something that is not JSON. What only the bridge can know (a reserved name, a limit)
   * rejects {@link Handle.registered}.
   */
  addTool<Input extends object = any>(definition: ToolDefinition<Input>, options?: AddOptions): ToolHandle;

  /**
   * Offers a resource: something that clients can read, and be told of when it changes. The same `uri` again
   * replaces it in its place. Fields other than functions are passed on as they are.
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
   * @throws TypeError when the definition cannot be a resource: no absolute `uri`, no `name`, no `read`.
   */
  addResource(definition: ResourceDefinition, options?: AddOptions): ResourceHandle;

  /**
   * Offers all resources whose URIs fit a template (RFC 6570: `{x}`, `{+x}`, `{/x}`, `{?a,b}`). Resources that were
   * added with a URI of their own come first.
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
   * @throws TypeError when the definition cannot be a template: no variable in `uriTemplate`, no `name`, no `read`.
   */
  addResourceTemplate<Variable extends string = string>(
    definition: ResourceTemplateDefinition<Variable>,
    options?: AddOptions,
  ): ResourceTemplateHandle;

  /**
   * Offers a prompt: messages that a person chooses to send, with arguments filled in. The same name again replaces
   * it in its place.
   *
   * @example
   * ```js
   * mcpWeb.addPrompt({
   *   name: "review",
   *   arguments: [{ name: "card", required: true, complete: (value) => board.titles(value) }],
   *   get: ({ card }) => `Review the card "${card}" and say what is missing.`,
   * });
   * ```
   * @throws TypeError when the definition cannot be a prompt: no name, no `get`, arguments without names.
   */
  addPrompt<Argument extends string = string>(definition: PromptDefinition<Argument>, options?: AddOptions): PromptHandle;

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
   * @throws TypeError when the definition cannot be an app: neither or both of `html` and `url`, a `url` of another
   * origin, or what {@link McpWeb.addTool} refuses.
   */
  addApp<Input extends object = any>(definition: AppDefinition<Input>, options?: AddOptions): AppHandle;

  /**
   * Asks the bridge's agent, which uses this page's tools to answer.
   *
   * Never throws: what is wrong with the options rejects {@link Query.result}, like any other failure. A query waits for
   * the connection, and outlives it when it breaks. One that was asked with `autoConnect: false` waits for
   * {@link McpWeb.connect}. Loads `mcp-web-query.js` when it is called for the first time.
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
  query<Arguments extends object = any>(options: QueryOptions, more?: QuerySignal): Query<Arguments>;

  /**
   * Takes up a query that another document of this tab has asked, before a reload: it tells the progress that the bridge
   * has kept (at most 256 KiB), and goes on. What this document has asked itself is found, too. The bridge waits for that
   * (30 s by default) before it cancels the query; one that it does not know any more fails with `QueryNotFound`.
   *
   * Add the page's tools first: what the agent has called meanwhile is waiting for them.
   *
   * @example
   * ```js
   * for (const uuid of mcpWeb.openQueries) show(mcpWeb.attachQuery(uuid));
   * ```
   */
  attachQuery<Arguments extends object = any>(uuid: string, options?: QuerySignal): Query<Arguments>;

  /**
   * The queries of this tab that have been asked and, as far as it knows, have not ended: also those of the document
   * before a reload. A tab that was duplicated, or opened from this one, has none of them.
   */
  readonly openQueries: string[];

  /**
   * Tells subscribed clients that the content of a resource changed: one that was added, or one that fits a template.
   * Several changes in one task are told once. While the connection is broken, the latest 256 changes are remembered.
   */
  notifyResourceUpdated(uri: string | URL): void;

  /**
   * Connects, also after {@link McpWeb.disconnect} and after a final failure; during a wait, the next
   * attempt starts now.
   *
   * @returns A promise that is fulfilled once connected. It waits as long as the status is
   * `reconnecting`, and is rejected with a {@link McpWebError} when the status becomes `failed` or
   * `disconnected`.
   */
  connect(): Promise<void>;
  /**
   * Finds out what stands between this page and its bridge: for a developer, or a report to one. The token is in none
   * of it. Loads `mcp-web-diagnose.js`; rejected with `DiagnosisUnavailable` when that is not there.
   *
   * @example
   * ```js
   * const { ok, summary } = await mcpWeb.diagnose();
   * if (!ok) console.log(summary);
   * ```
   */
  diagnose(): Promise<Diagnosis>;
  /** Disconnects, and cancels running calls. What was added stays, and is registered again by `connect()`. */
  disconnect(): Promise<void>;

  /** The session of this tab; `undefined` on a server unless given. Changes when another tab took the session over. */
  readonly sessionId: string | undefined;
  /** The name of this tab's session: as given, and once connected as the bridge gave it. */
  readonly sessionName: string | undefined;
  /** The bridge's address, without a trailing slash. */
  readonly bridgeUrl: string;
  /**
   * The token in use: there from the start when given as a string or made here; with a function,
   * `undefined` until it returned one for the first time (which a change of status follows). Always
   * `undefined` on a server unless given as a string.
   */
  readonly authToken: string | undefined;
  /**
   * What to paste into the configuration of a client that starts servers as processes, such as Claude
   * Desktop. `undefined` as long as {@link McpWeb.authToken} is. It contains the token.
   *
   * @example
   * ```js
   * element.textContent = JSON.stringify(mcpWeb.mcpConfig, null, 2);
   * ```
   */
  readonly mcpConfig: StdioMcpConfig | undefined;
  /**
   * What to paste into the configuration of a client that speaks Streamable HTTP. `undefined` as long as
   * {@link McpWeb.authToken} is. It contains the token.
   */
  readonly remoteMcpConfig: HttpMcpConfig | undefined;
}

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** Configuration of a client that starts servers as processes. */
export interface StdioMcpConfig {
  mcpServers: {
    [name: string]: {
      command: "mcp-web-stdio";
      args: string[];
      env: { MCP_SERVER_URL: string; AUTH_TOKEN: string };
    };
  };
}

/** Configuration of a client that speaks Streamable HTTP. */
export interface HttpMcpConfig {
  mcpServers: {
    [name: string]: {
      type: "http";
      url: string;
      headers: { Authorization: string };
    };
  };
}

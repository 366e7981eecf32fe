/// <reference lib="esnext.disposable" />

/**
 * Lets AI clients use this page through tools that the page registers.
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
 * stays `idle`, and tools are remembered and never registered.
 *
 * @packageDocumentation
 */

/** How the app presents itself, and which bridge it uses. */
export interface McpWebOptions {
  /** The app's name, as people know it. */
  name: string;
  /** What the app is for, in words that help a model decide when to use it. */
  description?: string;
  /** The app's version. */
  version?: string;
  /** URL of the app's icon. */
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
   * characters. A function is asked again before every connection, so it can return a fresh token;
   * when it fails, it is asked again after a while, and the status says why.
   *
   * @defaultValue 192 random bits, kept under the key `mcp-web:token:<bridgeUrl>` in the storage
   * named by {@link McpWebOptions.storage}.
   */
  authToken?: string | (() => string | Promise<string>);
  /**
   * Where a token that this module made is kept: in `localStorage` (all tabs of the app share it, and
   * it outlives them), in `sessionStorage` (this tab only), or nowhere (this document only).
   *
   * @defaultValue `"local"`
   */
  storage?: "local" | "session" | "none";
  /**
   * The session of this tab: at most 128 bytes. A connection with the same id and token takes over the
   * session of an older one.
   *
   * @defaultValue 128 random bits, new for each document.
   */
  sessionId?: string;
  /** A name for this tab, which a client can choose it by. Unique among the sessions of a token. */
  sessionName?: string;
  /**
   * Whether to connect at once. Otherwise nothing is loaded before {@link McpWeb.connect}.
   *
   * @defaultValue `true`
   */
  autoConnect?: boolean;
}

/**
 * A page's connection to a bridge, and the tools it offers.
 *
 * Works at once: what is asked before the wasm is loaded is done as soon as it is. Connections that
 * break come back by themselves, with growing waits (at most 15 s), and at once when the tab becomes
 * visible or the network is back; all tools are registered again.
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
   * Tools added in one task are registered together.
   *
   * @example
   * ```js
   * const tool = mcpWeb.addTool({ name: "count_cards", handler: () => ({ count: board.size }) });
   * await tool.registered;
   * await tool.remove();
   * ```
   * @throws TypeError when the definition cannot be a tool: no name, no handler, a schema that is not a
   * plain object, something that is not JSON. What only the bridge can know (a reserved name, a limit)
   * rejects {@link ToolHandle.registered}.
   */
  addTool<Input extends object = any>(definition: ToolDefinition<Input>, options?: AddToolOptions): ToolHandle;

  /**
   * Connects, also after {@link McpWeb.disconnect} and after a final failure; during a wait, the next
   * attempt starts now.
   *
   * @returns A promise that is fulfilled once connected. It waits as long as the status is
   * `reconnecting`, and is rejected with a {@link McpWebError} when the status becomes `failed` or
   * `disconnected`.
   */
  connect(): Promise<void>;
  /** Disconnects, and cancels running calls. Tools stay, and are registered again by `connect()`. */
  disconnect(): Promise<void>;

  /** The session of this tab; `undefined` on a server unless given. */
  readonly sessionId: string | undefined;
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

/** A JSON Schema object. Libraries have a conversion, for example `z.toJSONSchema(schema)`. */
export type JsonSchema = { [keyword: string]: unknown };

/** A tool: an MCP tool object and the function that does the work. */
export interface ToolDefinition<Input extends object = any> {
  /**
   * The name that clients call. Best at most 40 characters of `a-z A-Z 0-9 _ -`: a name over 64
   * characters or with others is published changed, see {@link ToolHandle.publishedName}.
   */
  name: string;
  /** A name for people. */
  title?: string;
  /** What the tool does and when to use it, for the model. */
  description?: string;
  /** What the input must look like, always of type `object`. Calls that do not fit never reach the handler. */
  inputSchema?: JsonSchema;
  /** What an object returned by the handler looks like. A result that does not fit is an error. */
  outputSchema?: JsonSchema;
  /** Hints about the tool's behaviour. */
  annotations?: ToolAnnotations;
  /** Icons for people. */
  icons?: readonly ToolIcon[];
  /** Whatever a client and this app agree on. */
  _meta?: { [key: string]: unknown };
  /** Other fields of MCP tool objects, passed on as they are. */
  [field: string]: unknown;
  /**
   * Does the work. What it returns, or what its promise is fulfilled with, is the result: any JSON value,
   * or nothing. What it throws becomes an error result with the error's `message`, and `data` if it has
   * that. Results are limited by the bridge, 10 MiB of JSON unless configured otherwise.
   *
   * Each call runs at most once. The `client` and the input come from outside: treat them as such.
   */
  handler(input: Input, context: CallContext): unknown;
}

/** Hints of the MCP specification about a tool's behaviour. */
export interface ToolAnnotations {
  title?: string;
  /** The tool changes nothing. */
  readOnlyHint?: boolean;
  /** The tool may destroy something. */
  destructiveHint?: boolean;
  /** Calling it again with the same input changes nothing more. */
  idempotentHint?: boolean;
  /** The tool deals with things outside the app. */
  openWorldHint?: boolean;
  [hint: string]: unknown;
}

/** An icon of the MCP specification. */
export interface ToolIcon {
  src: string;
  mimeType?: string;
  sizes?: readonly string[];
  [field: string]: unknown;
}

/** What a handler gets besides its input. */
export interface CallContext {
  /**
   * Fires when nobody waits for the result any more: the client cancelled or went away, the deadline
   * passed, the page disconnected, or the bridge was restarted. Its `reason` is a {@link McpWebError}.
   */
  readonly signal: AbortSignal;
  /** The call; the same as in {@link CallEvent.callId}. */
  readonly callId: string;
  /** The AI client, by its own words, if it gave any. */
  readonly client?: ClientInfo;
}

/** Options of {@link McpWeb.addTool}. */
export interface AddToolOptions {
  /** Removes the tool when it is aborted. */
  signal?: AbortSignal;
}

/** A tool that was added. With `using`, it is removed at the end of the block. */
export interface ToolHandle extends Disposable {
  /** The name as given. */
  readonly name: string;
  /** The name that clients see, once the bridge has accepted the tool. */
  readonly publishedName: string | undefined;
  /**
   * Fulfilled once clients can call the tool: pending while not connected. Rejected with a
   * {@link McpWebError} when the bridge refuses the tool (with the bridge's code), when the wasm cannot be
   * loaded, or when the tool is removed or replaced before (`ToolRemoved`). Nobody has to listen: an
   * unheard refusal is written to the console.
   */
  readonly registered: Promise<void>;
  /**
   * Removes the tool; calls that are running go on. Has no effect on a tool of the same name that replaced
   * this one.
   *
   * @returns A promise that is fulfilled once no client can call the tool. It is never rejected.
   */
  remove(): Promise<void>;
}

/** The state of the connection. */
export type Status =
  /** Not started: on a server, or with `autoConnect: false`. */
  | { readonly state: "idle" }
  /** The wasm is being loaded. */
  | { readonly state: "loading" }
  /** The first attempt is under way. */
  | { readonly state: "connecting" }
  /** Tools can be called. */
  | { readonly state: "connected" }
  /**
   * No bridge answered, or the connection broke, for the reason in `error`. The next attempt starts in
   * `retryInMs` milliseconds, counted from this change; while one is under way there is no `retryInMs`.
   */
  | { readonly state: "reconnecting"; readonly error: McpWebError; readonly retryInMs?: number }
  /** `disconnect()` was called. */
  | { readonly state: "disconnected" }
  /** Final until `connect()` is called. */
  | { readonly state: "failed"; readonly error: McpWebError };

/** An AI client, by its own words. */
export interface ClientInfo {
  readonly name: string;
  readonly version?: string;
  /** Its name for people. */
  readonly title?: string;
}

/** An AI client that is connected for this token. */
export interface ConnectedClient extends ClientInfo {
  /** Tells two clients of one name apart. */
  readonly id: number;
  /** The MCP revision it speaks, such as `2025-11-25`. */
  readonly protocolVersion: string;
}

/** A call as {@link McpWeb.onCall} hears of it. */
export type CallEvent = CallStarted | CallFinished | CallFailed | CallCancelled;

interface CallFacts {
  readonly callId: string;
  readonly toolName: string;
  /** The object that the handler gets, too. */
  readonly input: any;
  readonly client?: ClientInfo;
}

interface CallEnd extends CallFacts {
  /** Milliseconds from the start of the handler. */
  readonly durationMs: number;
}

/** The handler starts. */
export interface CallStarted extends CallFacts {
  readonly phase: "started";
}

/** The handler returned. */
export interface CallFinished extends CallEnd {
  readonly phase: "finished";
  /** What it returned. */
  readonly result: unknown;
}

/** The handler threw, or its result is no JSON or too large. */
export interface CallFailed extends CallEnd {
  readonly phase: "failed";
  readonly error: McpWebError;
}

/** Nobody waits for the result any more. */
export interface CallCancelled extends CallEnd {
  readonly phase: "cancelled";
  readonly error: McpWebError;
}

/** A failure with a code for programs and a message that says what to do. */
export class McpWebError extends Error {
  constructor(code: McpWebErrorCode, message: string, options?: ErrorOptions);
  readonly name: "McpWebError";
  readonly code: McpWebErrorCode;
}

/**
 * The codes of this module, and those of the bridge. The latter are only listed as far as an app is likely
 * to look at them; others are strings all the same.
 */
export type McpWebErrorCode =
  /** The page's Content-Security-Policy lacks `'wasm-unsafe-eval'` in `script-src`. */
  | "WasmBlocked"
  /** A file of this package could not be loaded. */
  | "WasmLoadFailed"
  /** `connect()` was called on a server. */
  | "NotInBrowser"
  /** No bridge answers at `bridgeUrl`. */
  | "BridgeUnreachable"
  /** The browser does not allow connections to `bridgeUrl`. */
  | "BridgeUrlRefused"
  /** The connection broke, or the bridge was restarted. */
  | "ConnectionLost"
  /** The bridge closed the connection for good. */
  | "ConnectionClosed"
  /** `disconnect()` was called. */
  | "Disconnected"
  /** The bridge speaks another version of the protocol. */
  | "ProtocolUnsupported"
  /** The `authToken` function failed. */
  | "TokenFailed"
  /** The tool was removed or replaced before it was registered. */
  | "ToolRemoved"
  /** The bridge knows no such token, or it is too short. */
  | "InvalidAuthentication"
  /** The bridge does not allow pages of this origin. */
  | "OriginNotAllowed"
  /** Another connection with the same `sessionId` took over. */
  | "SessionSuperseded"
  /** The token has as many sessions as it may have. */
  | "SessionLimitExceeded"
  /** Another session of the token has this `sessionName`. */
  | "SessionNameAlreadyInUse"
  /** The session reached its maximum duration. */
  | "SessionExpired"
  /** The bridge holds as many tokens as it may hold. */
  | "RealmLimitExceeded"
  /** The tool's definition cannot be published. */
  | "ToolDefinitionInvalid"
  /** The session has as many tools, or bytes of tools, as it may have. */
  | "ToolLimitExceeded"
  /** The name belongs to one of the bridge's own tools. */
  | "ToolNameReserved"
  /** The handler threw, or its result is no JSON. */
  | "ToolFailed"
  /** The result is larger than the bridge's limit. */
  | "ResultTooLarge"
  /** The caller cancelled. */
  | "CallCancelled"
  /** The call took longer than its deadline. */
  | "CallTimeout"
  | (string & {});

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

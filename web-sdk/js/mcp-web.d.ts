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
  /** Disconnects, and cancels running calls. What was added stays, and is registered again by `connect()`. */
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

/** What all definitions have in common. Other fields of the MCP object are passed on as they are, in their order. */
export interface DefinitionFields {
  /** A name for people. */
  title?: string;
  /** What it is for and when to use it, for the model. */
  description?: string;
  /** Icons for people. */
  icons?: readonly Icon[];
  /** Whatever a client and this app agree on. */
  _meta?: { [key: string]: unknown };
  [field: string]: unknown;
}

/** A tool: an MCP tool object and the function that does the work. */
export interface ToolDefinition<Input extends object = any> extends DefinitionFields {
  /**
   * The name that clients call. Best at most 40 characters of `a-z A-Z 0-9 _ -`: a name over 64
   * characters or with others is published changed, see {@link Handle.publishedName}.
   */
  name: string;
  /** What the input must look like, always of type `object`. Calls that do not fit never reach the handler. */
  inputSchema?: JsonSchema;
  /** What an object returned by the handler looks like. A result that does not fit is an error. */
  outputSchema?: JsonSchema;
  /** Hints about the tool's behaviour. */
  annotations?: ToolAnnotations;
  /**
   * Does the work. What it returns, or what its promise is fulfilled with, is the result, see {@link ToolResult}.
   * What it throws becomes an error result with the error's `message`, and `data` if it has that. Results are
   * limited by the bridge, 10 MiB of JSON unless configured otherwise.
   *
   * Each call runs at most once. The `client` and the input come from outside: treat them as such.
   */
  handler(input: Input, context: CallContext): ToolResult | Promise<ToolResult>;
}

/**
 * What a tool returns:
 *
 * - any JSON value, or nothing: clients see it as text, and an object as `structuredContent` too;
 * - bytes or a picture ({@link Binary}), a block made by {@link content}, or an array with one of these in it: content
 *   blocks. A picture becomes an image, a `Blob` of type `audio/…` audio, other bytes an embedded resource;
 * - {@link McpToolResult}: content blocks, structured content, or both. An object with any other field is a JSON value.
 */
export type ToolResult = unknown;

/** A tool's result in the shape of MCP's `CallToolResult`. */
export interface McpToolResult {
  /** What model and person see. */
  content: readonly (ContentBlock | Binary)[];
  /** What programs see; must fit the tool's output schema. */
  structuredContent?: object;
  /** Whatever a client and this app agree on. */
  _meta?: { [key: string]: unknown };
  /** The tool failed, and the content says why. */
  isError?: boolean;
}

/** A resource: an MCP resource object and the function that reads it. */
export interface ResourceDefinition extends DefinitionFields {
  /** Its absolute URI, of any scheme. */
  uri: string;
  /** A name for programs. */
  name: string;
  /** The type of its content, unless {@link ResourceDefinition.read} says another. */
  mimeType?: string;
  /** The length of its content in bytes, before base64. */
  size?: number;
  /** Hints for clients. */
  annotations?: Annotations;
  /** Reads it. Throw a {@link McpWebError} with code `ResourceNotFound` when it is not there. */
  read(uri: URL, context: CallContext): ResourceContent | Promise<ResourceContent>;
  /** A first client subscribed to it. */
  onSubscribe?(): void;
  /** No client is subscribed to it any more. */
  onUnsubscribe?(): void;
}

/** A resource template: an MCP template object and the function that reads what fits it. */
export interface ResourceTemplateDefinition<Variable extends string = string> extends DefinitionFields {
  /** An RFC 6570 template with at least one variable, such as `board://cards/{id}`. */
  uriTemplate: string;
  /** A name for programs. */
  name: string;
  /** The type of the contents, if it is the same for all. */
  mimeType?: string;
  /** Hints for clients. */
  annotations?: Annotations;
  /** Reads one of them. Throw a {@link McpWebError} with code `ResourceNotFound` when it is not there. */
  read(
    uri: URL,
    variables: { [name in Variable]: string },
    context: CallContext,
  ): ResourceContent | Promise<ResourceContent>;
  /** Completes variables, by their names. */
  complete?: { [name in Variable]?: Completer };
}

/**
 * What `read` returns: text, bytes, {@link ResourcePart}s, an object with `contents`, or any other JSON value, which
 * becomes text of type `application/json`.
 */
export type ResourceContent = unknown;

/** One part of a resource's content. */
export interface ResourcePart {
  /** Its own URI, if that is not the resource's. */
  uri?: string;
  mimeType?: string;
  /** Either text … */
  text?: string;
  /** … or bytes, or their base64. */
  blob?: Source;
  _meta?: { [key: string]: unknown };
}

/** A prompt: an MCP prompt object and the function that fills it in. */
export interface PromptDefinition<Argument extends string = string> extends DefinitionFields {
  /** The name that clients show; the rules of tool names apply. */
  name: string;
  /** What a person can fill in. */
  arguments?: readonly PromptArgument<Argument>[];
  /** Fills it in. Required arguments are there. */
  get(
    args: { [name in Argument]?: string },
    context: CallContext,
  ): PromptContent | Promise<PromptContent>;
}

/** An argument of a prompt. Its value is always a string. */
export interface PromptArgument<Name extends string = string> {
  name: Name;
  title?: string;
  description?: string;
  required?: boolean;
  /** Proposes values while a person types. */
  complete?: Completer;
  [field: string]: unknown;
}

/** What `get` returns: one message of the user as text, messages, or messages with a description. */
export type PromptContent =
  | string
  | readonly (string | Message)[]
  | { description?: string; messages: string | readonly (string | Message)[]; [field: string]: unknown };

/** A message of a prompt or a sampling request. Several blocks become several messages, except those of tools. */
export interface Message {
  /** @defaultValue `"user"` */
  role?: "user" | "assistant";
  content: MessageContent | readonly MessageContent[];
}

/** Content of a message: text, a block, bytes, or in sampling the use of a tool and its result. */
export type MessageContent = string | ContentBlock | Binary | ToolBlock;

/** Of sampling with tools (MCP 2025-11-25): a model's use of a tool, or what came of it. */
export interface ToolBlock {
  type: "tool_use" | "tool_result";
  [field: string]: unknown;
}

/** Proposes values for an argument: at most 100 are passed on. */
export type Completer = (
  /** What is written so far. */
  value: string,
  context: CompletionContext,
) => Completion | Promise<Completion>;

/** Values, best first. */
export type Completion = readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean };

/** What a completer gets besides the value. */
export interface CompletionContext extends CallFacts {
  /** The arguments or variables that have their values already. */
  readonly arguments: { readonly [name: string]: string };
}

/** An MCP App: a tool, and the page that shows its result. */
export type AppDefinition<Input extends object = any> = ToolDefinition<Input> &
  (
    | {
        /** The page, whole, or a function that makes it each time it is read. */
        html: string | (() => string | Promise<string>);
        url?: never;
      }
    | {
        /** The page's address, of this page's origin. It is fetched each time it is read. */
        url: string | URL;
        html?: never;
      }
  ) & {
    /** What the page may load; nothing from elsewhere unless said here. */
    csp?: {
      /** Origins for `fetch`, `XMLHttpRequest` and WebSocket. */
      connectDomains?: readonly string[];
      /** Origins for pictures, scripts, styles, fonts and media. */
      resourceDomains?: readonly string[];
      /** Origins of frames inside. */
      frameDomains?: readonly string[];
      /** Origins for `<base>`. */
      baseUriDomains?: readonly string[];
    };
    /** What the page may ask the browser for. */
    permissions?: { camera?: {}; microphone?: {}; geolocation?: {}; clipboardWrite?: {} };
    /** Whether a host should draw a border around it. */
    prefersBorder?: boolean;
    /** An origin of its own, in the host's form. */
    domain?: string;
  };

/** Bytes or a picture, as browsers hold them. Pictures are sent as PNG. */
export type Binary =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ImageData
  | ImageBitmap
  | HTMLCanvasElement
  | OffscreenCanvas;

/** Something to send as base64: bytes, a picture, a data URL, base64 itself, or base64 with its type. */
export type Source = Binary | string | { data: string | Binary; mimeType?: string };

/** Makes content blocks. What has to be converted is converted when the block is sent. */
export declare const content: {
  /** Text for model and person. */
  text(text: string, annotations?: Annotations): TextContent;
  /** A picture. The type is that of the source, or found in its first bytes, unless given. */
  image(source: Source, mimeType?: string): ImageContent;
  /** A sound. The type is that of the source, or found in its first bytes, unless given. */
  audio(source: Source, mimeType?: string): AudioContent;
  /** A resource's content, embedded. */
  resource(resource: { uri: string; mimeType?: string; text?: string; blob?: Source; _meta?: object }): EmbeddedResource;
  /** A link to a resource. */
  link(link: { uri: string; name: string; [field: string]: unknown }): ResourceLink;
};

/** MCP's `ContentBlock`. */
export type ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

interface BlockFields {
  annotations?: Annotations;
  _meta?: { [key: string]: unknown };
}
export interface TextContent extends BlockFields {
  type: "text";
  text: string;
}
export interface ImageContent extends BlockFields {
  type: "image";
  data: Source;
  mimeType?: string;
}
export interface AudioContent extends BlockFields {
  type: "audio";
  data: Source;
  mimeType?: string;
}
export interface EmbeddedResource extends BlockFields {
  type: "resource";
  resource: { uri: string; mimeType?: string; text?: string; blob?: Source; _meta?: object };
}
export interface ResourceLink extends BlockFields {
  type: "resource_link";
  uri: string;
  name: string;
  [field: string]: unknown;
}

/** Hints for clients about a block or resource. */
export interface Annotations {
  audience?: readonly ("user" | "assistant")[];
  /** From 0, the least important, to 1. */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
  [hint: string]: unknown;
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
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: readonly string[];
  [field: string]: unknown;
}

/** What is known of a call. */
export interface CallFacts {
  /** The call; the same as in {@link CallEvent}. */
  readonly callId: string;
  /**
   * Fires when nobody waits for the result any more: the client cancelled or went away, the deadline
   * passed, the page disconnected, or the bridge was restarted. Its `reason` is a {@link McpWebError}.
   */
  readonly signal: AbortSignal;
  /** The AI client, by its own words, if it gave any. */
  readonly client?: CallingClient | undefined;
  /** On whose behalf the call is made, as the bridge has verified it. */
  readonly caller: Caller;
}

/** What a handler gets besides its input. */
export interface CallContext extends CallFacts {
  /**
   * Says how far the call is. Does nothing when the client does not want to know, while the connection is broken, or
   * when `progress` has not grown.
   *
   * @throws TypeError when a number is not finite.
   */
  progress(progress: number, total?: number, message?: string): void;
  /**
   * Sends a message to the client's log. Does nothing when the client wants no logs or only graver ones, or while the
   * connection is broken. At most 256 KiB of JSON.
   *
   * @param logger which part of the app says it
   * @throws TypeError when there is no such level, or `data` is not JSON.
   */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Asks the person in front of the client to fill in a form, or to visit a page (MCP elicitation). With
   * {@link McpWebOptions.elicitInPage}, the user of this page may be asked instead.
   *
   * What a handler asks in one task reaches the client as one round; at most 16 requests of a call may be open. The
   * promise is rejected with a {@link McpWebError} that can be caught: `ClientCapabilityMissing` when the client cannot
   * do it (`data.requiredCapabilities` says what it lacks; uncaught, the client hears of it), `ClientRequestFailed` when
   * it answered with an error or not in time; the signal's reason when the call ends.
   *
   * @example
   * ```js
   * const answer = await ctx.elicit({
   *   message: "Delete the column with all its cards?",
   *   schema: { type: "object", properties: { sure: { type: "boolean", title: "Yes, delete it" } }, required: ["sure"] },
   * });
   * if (answer.action !== "accept" || !answer.content.sure) return "nothing was deleted";
   * ```
   */
  elicit<Content extends object = { [name: string]: string | number | boolean | string[] }>(
    request: ElicitForm,
  ): Promise<ElicitAnswer<Content>>;
  elicit(request: ElicitUrl): Promise<{ action: "accept" | "decline" | "cancel" }>;
  /** Has the client's model answer (MCP sampling). Rejected like {@link CallContext.elicit}. */
  sample(request: SampleRequest): Promise<SampleAnswer>;
  /** The folders and files that the client works on (MCP roots). Rejected like {@link CallContext.elicit}. */
  listRoots(request?: { key?: string }): Promise<Root[]>;
}

/** The levels of RFC 5424, from the least grave to the gravest. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** The AI client behind a call. */
export interface CallingClient extends ClientInfo {
  /** The MCP revision it speaks, such as `2025-11-25`; absent for plain HTTP. */
  readonly protocolVersion?: string;
  /** What it can do: its MCP `ClientCapabilities`. */
  readonly capabilities: {
    readonly elicitation?: object;
    readonly sampling?: object;
    readonly roots?: object;
    readonly [capability: string]: unknown;
  };
}

/** On whose behalf a call is made. */
export interface Caller {
  /** Whether the call came over MCP or plain HTTP. */
  readonly via: "mcp" | "http";
  /** The subject of the credential; absent with an opaque token, which names nobody. */
  readonly sub?: string;
  /** The roles that the credential grants. */
  readonly roles: readonly string[];
}

interface ClientRequestFields {
  /**
   * A name for the request, unique within the call: the same handler run again must ask the same under the same key.
   *
   * @defaultValue `elicit-1`, `elicit-2` …, `sample-1` …, `roots-1` …, in order of asking
   */
  key?: string;
}

/** A form for the person. */
export interface ElicitForm extends ClientRequestFields {
  /** What is wanted, and why. */
  message: string;
  /**
   * MCP's restricted schema: an object with properties of type `string` (with `format`, `enum`, `oneOf` …), `number`,
   * `integer`, `boolean`, or arrays of choices.
   */
  schema: JsonSchema;
  url?: never;
}

/** A page for the person to visit, for what must not pass through the client. */
export interface ElicitUrl extends ClientRequestFields {
  /** What is wanted, and why. */
  message: string;
  url: string | URL;
  schema?: never;
}

/** What the person did with a form. */
export type ElicitAnswer<Content extends object> =
  | { action: "accept"; content: Content }
  | { action: "decline"; content?: undefined }
  | { action: "cancel"; content?: undefined };

/** What to ask the client's model: `messages`, or a `prompt` as one message of the user. */
export interface SampleRequest extends ClientRequestFields {
  prompt?: string;
  messages?: string | readonly (string | Message)[];
  /** @defaultValue 1000 */
  maxTokens?: number;
  systemPrompt?: string;
  temperature?: number;
  modelPreferences?: {
    hints?: readonly { name?: string }[];
    costPriority?: number;
    speedPriority?: number;
    intelligencePriority?: number;
  };
  stopSequences?: readonly string[];
  includeContext?: "none" | "thisServer" | "allServers";
  tools?: readonly object[];
  toolChoice?: object;
  metadata?: object;
}

/** What the client's model answered. */
export interface SampleAnswer {
  role: "user" | "assistant";
  content: any;
  /** Which model answered. */
  model: string;
  /** Why it stopped. */
  stopReason?: string;
}

/** A folder or file that the client works on. */
export interface Root {
  uri: string;
  name?: string;
  _meta?: { [key: string]: unknown };
}

/** Options of {@link McpWeb.addTool} and its like. */
export interface AddOptions {
  /** Removes what was added when it is aborted. */
  signal?: AbortSignal;
}

/** Something that was added. With `using`, it is removed at the end of the block. */
export interface Handle<Definition> extends Disposable {
  /** The name that clients see, once the bridge has accepted it. */
  readonly publishedName: string | undefined;
  /**
   * Fulfilled once clients can use it, in its latest version: pending while not connected. Rejected with a
   * {@link McpWebError} when the bridge refuses it (with the bridge's code), when the wasm cannot be
   * loaded, or when it is removed or replaced before (`Removed`). Nobody has to listen: an
   * unheard refusal is written to the console.
   */
  readonly registered: Promise<void>;
  /**
   * Changes some fields, in place; `undefined` takes a field away. Calls that are running go on with the former
   * definition.
   *
   * @returns The new {@link Handle.registered}.
   * @throws TypeError when the whole cannot be such a definition, or the name, `uri` or `uriTemplate` would change.
   */
  update(changes: Changes<Definition>): Promise<void>;
  /**
   * Removes it; calls that are running go on. Has no effect on another of the same name that replaced
   * this one.
   *
   * @returns A promise that is fulfilled once no client can use it. It is never rejected.
   */
  remove(): Promise<void>;
}

/** Fields of a definition to change, or to take away. */
export type Changes<Definition> = { [Field in keyof Definition]?: Definition[Field] | undefined };

/** A tool that was added. */
export interface ToolHandle extends Handle<ToolDefinition> {
  /** The name as given. */
  readonly name: string;
}

/** A prompt that was added. */
export interface PromptHandle extends Handle<PromptDefinition> {
  /** The name as given. */
  readonly name: string;
}

/** A resource that was added. */
export interface ResourceHandle extends Handle<ResourceDefinition> {
  /** The URI as given. */
  readonly uri: string;
  /** Whether a client is subscribed to it. */
  readonly subscribed: boolean;
  /** Tells subscribed clients that its content changed. */
  notifyUpdated(): void;
}

/** A resource template that was added. */
export interface ResourceTemplateHandle extends Handle<ResourceTemplateDefinition> {
  /** The template as given. */
  readonly uriTemplate: string;
  /** Tells subscribed clients that the content of one of its resources changed. */
  notifyUpdated(uri: string | URL): void;
}

/** An app that was added: the tool and its page. */
export interface AppHandle extends Handle<AppDefinition> {
  /** The tool's name as given. */
  readonly name: string;
  /** The URI of the page, `ui://…`. */
  readonly resourceUri: string;
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

interface CallEventFacts {
  readonly callId: string;
  /** What is called: `completion` is one of a prompt's arguments or a template's variables. */
  readonly kind: "tool" | "prompt" | "resource" | "resource-template" | "completion";
  /** The name, URI or URI template that it was added with. */
  readonly name: string;
  /**
   * Of a tool or prompt the object that the handler gets, too; `{ uri }`, `{ uri, variables }`,
   * or `{ argument: { name, value }, arguments }`.
   */
  readonly input: any;
  readonly client?: CallingClient;
  readonly caller: Caller;
}

interface CallEnd extends CallEventFacts {
  /** Milliseconds from the start of the handler. */
  readonly durationMs: number;
}

/** The handler starts. */
export interface CallStarted extends CallEventFacts {
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
  /** More, for programs. What a handler throws takes it along to the client. */
  data?: unknown;
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
  /** What was added was removed or replaced before it was registered. */
  | "Removed"
  /** A dialog is needed, and there is no document to show it in. */
  | "DialogUnavailable"
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
  /** The definition cannot be published. */
  | "DefinitionInvalid"
  /** The session has as many definitions, or bytes of definitions, as it may have. */
  | "DefinitionLimitExceeded"
  /** The name belongs to one of the bridge's own tools. */
  | "ToolNameReserved"
  /** The handler threw, or its result is no JSON. */
  | "HandlerFailed"
  /** There is no such resource: for handlers to throw. */
  | "ResourceNotFound"
  /** There is no such prompt: for handlers to throw. */
  | "PromptNotFound"
  /** The arguments make no sense together: for handlers to throw. */
  | "InvalidArguments"
  /** The client behind the call cannot do what the handler asked it for. */
  | "ClientCapabilityMissing"
  /** The client behind the call answered with an error, or not in time. */
  | "ClientRequestFailed"
  /** What the handler asked the client is larger than a frame. */
  | "RequestTooLarge"
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

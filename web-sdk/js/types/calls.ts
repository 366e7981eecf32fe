/** What a handler gets besides its input, and what an app hears of calls. */

import type { Message } from "./content.ts";
import type { InferInput, JsonSchema } from "./infer.ts";
import type { McpWebError } from "../mcp-web/error.ts";
import type { ClientInfo } from "./status.ts";

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
   * @param level how grave it is
   * @param data any JSON value
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
  elicit<const Schema extends JsonSchema>(request: ElicitForm<Schema>): Promise<ElicitAnswer<InferInput<Schema>>>;
  /** Asks the person to visit a page. Everything else is as with a form. */
  elicit(request: ElicitUrl): Promise<{ action: "accept" | "decline" | "cancel" }>;
  /**
   * Lets the next document of this session go on with the call if this one ends before the call: by a link, a form, a reload,
   * or the way back and forward. Its handler of the same tool then gets the state as {@link CallContext.continuation}.
   * Called again, it replaces the state; without a state, or with `null`, the call ends with its document, as if this was
   * never called.
   *
   * It counts at once: call it before what ends the document. It does nothing for calls that do not come through the bridge. A page may have 8 such calls with states of 256 KiB together,
   * and a call may be handed over 5 times. A call that is beyond that fails when its document ends.
   *
   * @param state any JSON value but `null`, at most 64 KiB of JSON
   * @throws RangeError when the state is larger, TypeError when it is not JSON, or the call has ended.
   * @example
   * ```js
   * handler: async ({ address }, ctx) => {
   *   if (ctx.continuation) return { title: document.title };
   *   ctx.handOver({ from: location.href });
   *   location.assign(address);
   *   return new Promise(() => {}); // the next document answers
   * }
   * ```
   */
  handOver(state?: unknown): void;
  /** The state with which the document before has handed the call over; absent if this one is the first to run it. */
  readonly continuation?: any;
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
    /** It can ask its user. */
    readonly elicitation?: object;
    /** It can have its model answer. */
    readonly sampling?: object;
    /** It can list the folders that it works on. */
    readonly roots?: object;
    readonly [capability: string]: unknown;
  };
  /** What the bridge knows that it can take. */
  readonly limits?: ClientLimits;
}

/** How much a client can take, where there is a limit. */
export interface ClientLimits {
  /** The most bytes of a result, as the client counts them. */
  readonly maxResultBytes?: number;
  /** The most pixels of the longer edge of a picture. */
  readonly maxImageEdge?: number;
}

/** On whose behalf a call is made. */
export interface Caller {
  /**
   * Whether the call came over MCP or plain HTTP, was made by an agent of the browser through WebMCP, or by this page, for
   * the context of a query.
   */
  readonly via: "mcp" | "http" | "webmcp" | "page";
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
export interface ElicitForm<Schema = JsonSchema> extends ClientRequestFields {
  /** What is wanted, and why. */
  message: string;
  /**
   * MCP's restricted schema: an object with properties of type `string` (with `format`, `enum`, `oneOf` …), `number`,
   * `integer`, `boolean`, or arrays of choices.
   */
  schema: Schema;
  /** A form has no address. */
  url?: never;
}

/** A page for the person to visit, for what must not pass through the client. */
export interface ElicitUrl extends ClientRequestFields {
  /** What is wanted, and why. */
  message: string;
  /** The address of the page. */
  url: string | URL;
  /** A page has no schema. */
  schema?: never;
}

/** What the person did with a form. */
export type ElicitAnswer<Content> =
  | { action: "accept"; content: Content }
  | { action: "decline"; content?: undefined }
  | { action: "cancel"; content?: undefined };

/** What to ask the client's model: `messages`, or a `prompt` as one message of the user. */
export interface SampleRequest extends ClientRequestFields {
  /** One message of the user, instead of `messages`. */
  prompt?: string;
  /** The messages. A text is a message of the user. */
  messages?: string | readonly (string | Message)[];
  /**
   * The most tokens that the answer may have.
   *
   * @defaultValue 1000
   */
  maxTokens?: number;
  /** Instructions for the model, before the messages. */
  systemPrompt?: string;
  /** How random the answer may be, in the units of the model. */
  temperature?: number;
  /** Which model to choose. The client decides. */
  modelPreferences?: {
    /** Models in the order of preference. */
    hints?: readonly { name?: string }[];
    /** How important low costs are, from 0 to 1. */
    costPriority?: number;
    /** How important speed is, from 0 to 1. */
    speedPriority?: number;
    /** How important the abilities of the model are, from 0 to 1. */
    intelligencePriority?: number;
  };
  /** Texts at which the model stops. */
  stopSequences?: readonly string[];
  /** The servers whose context the client adds to the request. */
  includeContext?: "none" | "thisServer" | "allServers";
  /** Tools that the model may use, as MCP `Tool` objects. The handler runs them. */
  tools?: readonly object[];
  /** Whether the model must use tools, as an MCP `ToolChoice`. */
  toolChoice?: object;
  /** Fields for the provider of the model. */
  metadata?: object;
}

/** What the client's model answered. */
export interface SampleAnswer {
  /** Whose message it is: `assistant`. */
  role: "user" | "assistant";
  /** The content, as MCP has it: a block, or an array of blocks. */
  content: any;
  /** Which model answered. */
  model: string;
  /** Why it stopped. */
  stopReason?: string;
}

/** A folder or file that the client works on. */
export interface Root {
  /** The address, which begins with `file://`. */
  uri: string;
  /** A name for people. */
  name?: string;
  /** Further fields of the client. */
  _meta?: { [key: string]: unknown };
}

/** A call as {@link McpWeb.onCall} hears of it. */
export type CallEvent = CallStarted | CallFinished | CallFailed | CallCancelled;

interface CallEventFacts {
  /** The call; the same in its start and its end. */
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
  /** The AI client, if it has given its name. */
  readonly client?: CallingClient;
  /** On whose behalf the call is made. */
  readonly caller: Caller;
}

interface CallEnd extends CallEventFacts {
  /** Milliseconds from the start of the handler. */
  readonly durationMs: number;
}

/** The handler starts. */
export interface CallStarted extends CallEventFacts {
  /** The call has started. */
  readonly phase: "started";
}

/** The handler returned. */
export interface CallFinished extends CallEnd {
  /** The call has a result. */
  readonly phase: "finished";
  /** What it returned. */
  readonly result: unknown;
}

/** The handler threw, or its result is no JSON or too large. */
export interface CallFailed extends CallEnd {
  /** The call has failed. */
  readonly phase: "failed";
  /** The reason. */
  readonly error: McpWebError;
}

/** Nobody waits for the result any more. */
export interface CallCancelled extends CallEnd {
  /** The call was cancelled. */
  readonly phase: "cancelled";
  /** The reason, which is also that of the signal of the call. */
  readonly error: McpWebError;
}

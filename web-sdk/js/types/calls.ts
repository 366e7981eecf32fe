/** The context of a handler, and the events of calls for an app. */

import type { Message } from "./content.ts";
import type { InferInput, JsonSchema } from "./infer.ts";
import type { McpWebError } from "../mcp-web/error.ts";
import type { ClientInfo } from "./status.ts";

/** The facts about a call. */
export interface CallFacts {
  /** The id of the call; the same as in {@link CallEvent}. */
  readonly callId: string;
  /**
   * Fires when the result is no longer needed: the client cancelled or disconnected, the deadline passed, the page
   * disconnected, or the bridge was restarted. Its `reason` is a {@link McpWebError}.
   */
  readonly signal: AbortSignal;
  /** The AI client's description of itself, if it has one. */
  readonly client?: CallingClient | undefined;
  /** The user on whose behalf the call is made, as verified by the bridge. */
  readonly caller: Caller;
  /**
   * The trace of the call as HTTP headers: `traceparent`, `tracestate` and `baggage` (W3C); empty if the bridge records none.
   * A request with them belongs to the trace. Send them to servers of the app only: a browser asks another origin first.
   *
   * @example
   * ```js
   * const response = await fetch("/api/cards", { headers: ctx.trace });
   * ```
   */
  readonly trace: { readonly [header: string]: string };
}

/** The context of a handler. */
export interface CallContext extends CallFacts {
  /**
   * Reports progress. Does nothing if the client does not request it, while the connection is broken, or if `progress` has
   * not increased.
   *
   * @throws TypeError if a number is not finite.
   */
  progress(progress: number, total?: number, message?: string): void;
  /**
   * Sends a message to the client's log. Does nothing if the client requests no logs or only more severe ones, or while the
   * connection is broken. At most 256 KiB of JSON.
   *
   * @param level the severity
   * @param data any JSON value
   * @param logger the part of the app that logs
   * @throws TypeError if the level is unknown, or `data` is not JSON.
   */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Asks the user of the client to fill in a form, or to visit a page (MCP elicitation). With
   * {@link McpWebOptions.elicitInPage}, the user of this page may be asked instead.
   *
   * The requests of a handler in one task reach the client as one round; at most 16 requests of a call may be open. The
   * promise is rejected with a {@link McpWebError} that can be caught: `ClientCapabilityMissing` if the client does not
   * support it (`data.requiredCapabilities` lists the missing capabilities; uncaught, the client receives this error),
   * `ClientRequestFailed` if it answered with an error or not in time, or the signal's reason if the call ends.
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
  /** Asks the person to visit a page. Everything else is the same as for a form. */
  elicit(request: ElicitUrl): Promise<{ action: "accept" | "decline" | "cancel" }>;
  /**
   * Lets the next document of this session continue the call if this document ends before the call: by a link, a form, a
   * reload, or going back or forward. The handler of the same tool then receives the state as
   * {@link CallContext.continuation}. Another call of this method replaces the state. Without a state, or with `null`, the
   * call ends with its document, as if this method was never called.
   *
   * It takes effect immediately: call it before the action that ends the document. It has no effect on calls that do not
   * come through the bridge. A page may have 8 such calls with states of 256 KiB in total, and a call may be handed over 5
   * times. A call beyond these limits fails when its document ends.
   *
   * @param state any JSON value except `null`, at most 64 KiB of JSON
   * @throws RangeError if the state is larger; TypeError if it is not JSON, or the call has ended.
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
  /** The state with which the previous document handed over the call; absent if this document is the first to run it. */
  readonly continuation?: any;
  /** Asks the client's model for an answer (MCP sampling). Rejected like {@link CallContext.elicit}. */
  sample(request: SampleRequest): Promise<SampleAnswer>;
  /** The folders and files that the client works on (MCP roots). Rejected like {@link CallContext.elicit}. */
  listRoots(request?: { key?: string }): Promise<Root[]>;
}

/** The levels of RFC 5424, from the least severe to the most severe. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** The AI client behind a call. */
export interface CallingClient extends ClientInfo {
  /** The MCP revision that it uses, such as `2025-11-25`; absent for plain HTTP. */
  readonly protocolVersion?: string;
  /** Its abilities: its MCP `ClientCapabilities`. */
  readonly capabilities: {
    /** It can ask its user. */
    readonly elicitation?: object;
    /** It can send requests to its model. */
    readonly sampling?: object;
    /** It can list the folders that it works on. */
    readonly roots?: object;
    readonly [capability: string]: unknown;
  };
  /** The limits of the client that the bridge knows. */
  readonly limits?: ClientLimits;
}

/** The limits of a client, as far as it has any. */
export interface ClientLimits {
  /** Maximum size of a result in bytes, as the client counts them. */
  readonly maxResultBytes?: number;
  /** Maximum length of a picture's longer edge, in pixels. */
  readonly maxImageEdge?: number;
}

/** The user on whose behalf a call is made. */
export interface Caller {
  /**
   * Whether the call came over MCP or plain HTTP, was made by an agent of the browser through WebMCP, or by this page for
   * the context of a query.
   */
  readonly via: "mcp" | "http" | "webmcp" | "page";
  /** The subject of the credential; absent for an opaque token, which has no subject. */
  readonly sub?: string;
  /** The roles that the credential grants. */
  readonly roles: readonly string[];
}

interface ClientRequestFields {
  /**
   * A name for the request, unique within the call. If the same handler runs again, it must use the same key for the same
   * request.
   *
   * @defaultValue `elicit-1`, `elicit-2` …, `sample-1` …, `roots-1` …, in order of the requests
   */
  key?: string;
}

/** A form for the person. */
export interface ElicitForm<Schema = JsonSchema> extends ClientRequestFields {
  /** The requested information, and the reason. */
  message: string;
  /**
   * MCP's restricted schema: an object with properties of type `string` (with `format`, `enum`, `oneOf` …), `number`,
   * `integer`, `boolean`, or arrays of choices.
   */
  schema: Schema;
  /** A form has no address. */
  url?: never;
}

/** A page for the person to visit, for data that must not pass through the client. */
export interface ElicitUrl extends ClientRequestFields {
  /** The requested action, and the reason. */
  message: string;
  /** The address of the page. */
  url: string | URL;
  /** A page has no schema. */
  schema?: never;
}

/** The answer of a person to a form. */
export type ElicitAnswer<Content> =
  | { action: "accept"; content: Content }
  | { action: "decline"; content?: undefined }
  | { action: "cancel"; content?: undefined };

/** A request to the client's model: `messages`, or a `prompt` as one message of the user. */
export interface SampleRequest extends ClientRequestFields {
  /** One message of the user, instead of `messages`. */
  prompt?: string;
  /** The messages. A string is a message of the user. */
  messages?: string | readonly (string | Message)[];
  /**
   * Maximum number of tokens of the answer.
   *
   * @defaultValue 1000
   */
  maxTokens?: number;
  /** Instructions for the model, before the messages. */
  systemPrompt?: string;
  /** The randomness of the answer, in the units of the model. */
  temperature?: number;
  /** Preferences for the model. The client decides. */
  modelPreferences?: {
    /** Models in the order of preference. */
    hints?: readonly { name?: string }[];
    /** The importance of low costs, from 0 to 1. */
    costPriority?: number;
    /** The importance of speed, from 0 to 1. */
    speedPriority?: number;
    /** The importance of the model's abilities, from 0 to 1. */
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

/** The answer of the client's model. */
export interface SampleAnswer {
  /** The role of the author: `assistant`. */
  role: "user" | "assistant";
  /** The content in MCP's format: a block, or an array of blocks. */
  content: any;
  /** The model that answered. */
  model: string;
  /** Why the model stopped. */
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

/** A call, as {@link McpWeb.onCall} reports it. */
export type CallEvent = CallStarted | CallFinished | CallFailed | CallCancelled;

interface CallEventFacts {
  /** The id of the call; the same for its start and its end. */
  readonly callId: string;
  /** The kind of the item: `completion` is that of a prompt's arguments or a template's variables. */
  readonly kind: "tool" | "prompt" | "resource" | "resource-template" | "completion";
  /** The name, URI or URI template with which it was added. */
  readonly name: string;
  /**
   * For a tool or prompt, the object that the handler also receives; otherwise `{ uri }`, `{ uri, variables }`, or
   * `{ argument: { name, value }, arguments }`.
   */
  readonly input: any;
  /** The AI client, if it has provided its name. */
  readonly client?: CallingClient;
  /** The user on whose behalf the call is made. */
  readonly caller: Caller;
}

interface CallEnd extends CallEventFacts {
  /** The time since the start of the handler, in milliseconds. */
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
  /** The return value. */
  readonly result: unknown;
}

/** The handler threw, or its result is not JSON or too large. */
export interface CallFailed extends CallEnd {
  /** The call has failed. */
  readonly phase: "failed";
  /** The reason. */
  readonly error: McpWebError;
}

/** The result is no longer needed. */
export interface CallCancelled extends CallEnd {
  /** The call was cancelled. */
  readonly phase: "cancelled";
  /** The reason, which is also that of the signal of the call. */
  readonly error: McpWebError;
}

/** What a page asks an agent: a service that has a model, and that uses the page's own tools to answer. */

import type { JsonSchema, ToolSchema } from "./infer.ts";
import type { AppHandle, ToolHandle } from "./handles.ts";

/**
 * A tool of this page: its handle, or its name. With {@link QueryOptions.profile}, `tools` and `approve` may also name a tool
 * of the agent, such as `notes-read_file`.
 */
export type ToolReference = ToolHandle | AppHandle | string;

/** What {@link McpWeb.query} asks. */
export interface QueryOptions {
  /** What the agent should do, in words. */
  prompt: string;
  /**
   * What the agent should know from the start. JSON, as it is at the moment of asking; a tool's handler is run in this
   * page before the query is sent (nobody hears of that in {@link McpWeb.onCall}).
   *
   * @example
   * ```js
   * context: [
   *   listCards,                                            // a tool's handle: what it returns now
   *   { tool: "list_cards", arguments: { column: "todo" } },
   *   { name: "selection", value: board.selected, description: "The cards that the user has marked" },
   * ]
   * ```
   */
  context?: readonly QueryContext[] | undefined;
  /** Tools that the agent should think of first. It may use the page's others, too, unless `restrictTools` is set. */
  tools?: readonly ToolReference[] | undefined;
  /** Whether the agent may call nothing but `tools` and `responseTool`. The bridge sees to it. */
  restrictTools?: boolean | undefined;
  /** The answer is a call of this tool: the agent must make it, and the first that succeeds completes the query. */
  responseTool?: ToolReference | undefined;
  /**
   * The answer is a value that fits this schema, in {@link QueryResult.value}: JSON Schema, or a schema of a library that
   * implements Standard Schema, whose transforms and defaults are applied. Not together with `responseTool`.
   *
   * @example
   * ```js
   * const { value } = await mcpWeb.query({
   *   prompt: "Which cards are late?",
   *   responseSchema: { type: "array", items: { type: "string" } },
   * }).result; // value: string[]
   * ```
   */
  responseSchema?: ToolSchema | undefined;
  /**
   * Tools whose calls the user must approve: the agent tells of each with an `approval-requested` event, and waits for
   * {@link Query.approve}. The operator of the agent may ask for approval of further tools. Who answers, the app or a dialog
   * of the SDK, depends on {@link QueryOptions.approvalDialog}.
   */
  approve?: readonly ToolReference[] | undefined;
  /**
   * Whether the SDK asks the user of the page about calls that must be approved, in an accessible dialog that is loaded when
   * it is first needed. In a worker there is no dialog.
   *
   * @defaultValue `true` for requests that arrive before the app has begun to iterate the events of the query, `false` for
   * later ones: the app answers them
   */
  approvalDialog?: boolean | undefined;
  /**
   * The profile of the tools that the agent has itself, beside those of the page: 1 to 32 characters of `a-z`, `A-Z`, `0-9`,
   * `_` and `-`. The operator of the agent configures the profiles. With it, `tools` and `approve` may have names of such
   * tools, which this page cannot check: the agent tells of unknown names in `approve` with a `note`.
   *
   * @defaultValue the first profile that admits the user
   */
  profile?: string | undefined;
  /**
   * Pictures and files that belong to the prompt. Pictures are scaled down to 1,568 pixels. A model that reads no pictures
   * is told their names, types and sizes.
   */
  attachments?: readonly QueryAttachment[] | undefined;
  /** The id of the conversation that the query continues, or begins: see {@link McpWeb.conversation}. */
  conversation?: string | undefined;
  /**
   * How long it may take, in milliseconds from 1. The bridge has a limit of its own (`query_timeout`), which counts if it
   * is shorter. Until the query is taken, also without a connection, only this one counts.
   */
  timeout?: number | undefined;
}

/** A picture or file: a `File` or another `Blob`, or its content as base64. */
export type QueryAttachment = Blob | { mimeType: string; data: string; name?: string | undefined };

/** Something that the agent should know: a fact, or what a tool of the page says. */
export type QueryContext =
  | ToolReference
  | {
      tool: ToolReference;
      /** What its handler gets. @defaultValue `{}` */
      arguments?: object | undefined;
    }
  | {
      name: string;
      /** Any JSON value. */
      value: unknown;
      /** What `value` looks like. */
      schema?: JsonSchema | undefined;
      /** What it means. */
      description?: string | undefined;
    };

/** Options of {@link McpWeb.query} and {@link McpWeb.attachQuery}. */
export interface QuerySignal {
  /** Cancels the query when it is aborted; {@link Query.result} is then rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link McpWeb.attachQuery}. */
export interface AttachOptions extends QuerySignal {
  /** As {@link QueryOptions.approvalDialog}, which is not known any more in another document than the one that has asked. */
  approvalDialog?: boolean | undefined;
}

/**
 * A query that was asked.
 *
 * Nothing has to be listened to: a failure that nobody has asked for is written to the console, and is no unhandled
 * rejection.
 *
 * @example
 * ```js
 * const query = mcpWeb.query({ prompt: "Which cards are late?" });
 * for await (const event of query) if (event.type === "text") output.append(event.text);
 * const { text } = await query.result;
 * ```
 */
export interface Query<Arguments extends object = any, Value = any> extends AsyncIterable<QueryEvent> {
  /** Names the query; see {@link McpWeb.attachQuery}. */
  readonly uuid: string;
  /**
   * `waiting` until an agent has taken it: for the connection, for what its context needs, or for the agent. Then
   * `running`, and in the end one of the others.
   */
  readonly state: "waiting" | "running" | "complete" | "failed" | "cancelled";
  /**
   * The answer. Rejected with a {@link McpWebError} (`code`, `message`, and `remedy` where something can be done) when
   * the query fails or is cancelled, or with the reason of the signal that has cancelled it.
   */
  readonly result: Promise<QueryResult<Arguments, Value>>;
  /**
   * What the agent tells of its progress, from the beginning, for each loop anew; ends with the query, by throwing what
   * {@link Query.result} is rejected with. Leaving the loop does not cancel the query. At most 256 KiB are kept for who
   * comes late; what is not any more is told by a `note`.
   */
  [Symbol.asyncIterator](): AsyncGenerator<QueryEvent, void, undefined>;
  /**
   * Nobody wants the answer any more: what the query still runs is cancelled, and no tool runs for it afterwards. Does
   * nothing once it has ended.
   *
   * @param reason for the agent, and the message of the error
   */
  cancel(reason?: string): void;
  /**
   * Answers an `approval-requested` event: the call is made, or it is not. Does nothing if the request was answered
   * before or has expired. To allow a call, call this in the handler of a click or a key: while the app has not answered,
   * page tools wait.
   *
   * @param id the `id` of the event
   * @throws McpWebError with the code `PersonRequired` when a call is allowed and the person has not just done something since
   * the request, unless {@link McpWebOptions.approvals} is `"app"`.
   */
  approve(id: string, approved?: boolean): void;
}

/** The answer to a query. */
export interface QueryResult<Arguments extends object = any, Value = any> {
  /** What the agent says in the end. */
  text?: string;
  /** The call of {@link QueryOptions.responseTool} that has completed the query: how, and what it returned. */
  response?: { arguments: Arguments; result: any };
  /** The answer that fits {@link QueryOptions.responseSchema}, or the JSON value of another agent. */
  value?: Value;
  /** The calls of this page's tools, in the order in which they ended, and then those of the agent's own tools. */
  toolCalls: QueryToolCall[];
  /** What the query has used, as far as the provider of the model reports it. */
  usage?: QueryUsage;
}

/** What a query has used. */
export interface QueryUsage {
  /** The tokens by the name of the model. */
  models: Record<string, TokenUsage>;
  /** The time since the agent has accepted the query. */
  milliseconds: number;
}

/** The tokens of a model. */
export interface TokenUsage {
  /** The tokens of the input, those from the provider's cache included. */
  input: number;
  /** The tokens of the output, those of the thinking included. */
  output: number;
  /** The tokens of the input that were in the provider's cache. */
  cached: number;
  /** The tokens of the output that the model has used to think. */
  thinking: number;
}

/** A call that the agent has made. */
export interface QueryToolCall {
  /** The name of the tool. */
  tool: string;
  /** The source of the tool, if it is one of the agent's own; absent for a tool of this page. */
  source?: string;
  /** The arguments, as the agent has sent them. */
  arguments: any;
  /** As the handler returned it; an object with `error` if it failed. Of a tool with a `source`, the beginning as text. */
  result?: any;
}

/** What an agent tells of its progress. */
export type QueryEvent =
  /** A piece of the answer, to be appended to the pieces before it. */
  | { readonly type: "text"; readonly text: string }
  /** A piece of what the model thinks, where it shows that. */
  | { readonly type: "thinking"; readonly text: string }
  /**
   * The model writes the arguments of a call; `id` is the same when the tool is called. `arguments` is the value as far
   * as it is written, such as `{ title: "Mil" }`. With {@link QueryOptions.responseSchema}, the tool is `answer`, and
   * `arguments` is the answer; one that is no object is in its property `value`.
   */
  | { readonly type: "tool-arguments"; readonly id: string; readonly tool: string; readonly delta: string; readonly arguments: any }
  /** A call waits for the user: see {@link Query.approve}. It is not made after `expiresInMs`, counted from the request. */
  | {
      readonly type: "approval-requested";
      readonly id: string;
      readonly tool: string;
      /** The source of the tool, if it is one of the agent's own; absent for a tool of this page. */
      readonly source?: string;
      readonly arguments: any;
      readonly expiresInMs: number;
    }
  /** What the query has used so far; told after each turn of the model. */
  | { readonly type: "usage"; readonly usage: QueryUsage }
  /** A tool was called; `id` is the same when it has finished. */
  | {
      readonly type: "tool-started";
      readonly id: string;
      readonly tool: string;
      /** The source of the tool, if it is one of the agent's own; absent for a tool of this page. */
      readonly source?: string;
      readonly arguments: any;
    }
  /** A call has ended; `error` says why it failed. */
  | {
      readonly type: "tool-finished";
      readonly id: string;
      readonly tool: string;
      /** The source of the tool, if it is one of the agent's own; absent for a tool of this page. */
      readonly source?: string;
      /** The beginning of what a tool with a `source` returned, which this page has not seen: at most 2 KiB. */
      readonly result?: string;
      readonly isError: boolean;
      readonly error?: string;
      /**
       * Why it failed, for a program: `tool_error`, `invalid_args`, `denied` by the user or the operator, `rate_limited`,
       * `timeout`, `unavailable`.
       */
      readonly outcome?: string;
    }
  /** Something that the user may want to know: the model is busy, a limit is near. */
  | { readonly type: "note"; readonly text: string }
  /** What another agent than this project's tells in words or JSON of its own. */
  | { readonly type: "progress"; readonly content: any };

/** Queries of a page to an agent: a service with a model that uses the page's own tools to answer. */

import type { JsonSchema, ToolSchema } from "./infer.ts";
import type { AppHandle, ToolHandle } from "./handles.ts";

/**
 * A tool of this page: its handle, or its name. With {@link QueryOptions.profile}, `tools` and `approve` may also name a tool
 * of the agent, such as `notes-read_file`.
 */
export type ToolReference = ToolHandle | AppHandle | string;

/** The options of {@link McpWeb.query}. */
export interface QueryOptions {
  /** The task for the agent, as text. */
  prompt: string;
  /**
   * The initial knowledge of the agent, as JSON at the time of the query. A tool's handler runs in this page before the
   * query is sent (it is not reported by {@link McpWeb.onCall}).
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
  /** Tools that the agent should prefer. It may also use the page's others, unless `restrictTools` is set. */
  tools?: readonly ToolReference[] | undefined;
  /** Whether the agent may call only `tools` and `responseTool`. The bridge enforces it. */
  restrictTools?: boolean | undefined;
  /** The tool whose call is the answer: the agent must call it, and the first successful call completes the query. */
  responseTool?: ToolReference | undefined;
  /**
   * The schema of the answer, which becomes a value in {@link QueryResult.value}: JSON Schema, or a schema of a library
   * that implements Standard Schema, whose transforms and defaults are applied. Not together with `responseTool`.
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
   * Tools whose calls the user must approve: the agent reports each with an `approval-requested` event, and waits for
   * {@link Query.approve}. The operator of the agent may require approval for further tools.
   * {@link QueryOptions.approvalDialog} decides whether the app or a dialog of the SDK answers.
   */
  approve?: readonly ToolReference[] | undefined;
  /**
   * Whether the SDK asks the user of the page about calls that need approval, in an accessible dialog that is loaded when
   * it is first needed. In a worker there is no dialog.
   *
   * @defaultValue `true` for requests that arrive before the app has begun to iterate the events of the query, `false` for
   * later ones: the app answers them
   */
  approvalDialog?: boolean | undefined;
  /**
   * The profile of the agent's own tools, besides those of the page: 1 to 32 characters of `a-z`, `A-Z`, `0-9`, `_` and
   * `-`. The operator of the agent configures the profiles. With it, `tools` and `approve` may contain names of such tools,
   * which this page cannot check: the agent reports unknown names in `approve` with a `note`.
   *
   * @defaultValue the first profile that is available to the user
   */
  profile?: string | undefined;
  /**
   * Pictures and files that belong to the prompt. Pictures are scaled down to 1,568 pixels. A model that cannot read
   * pictures gets their names, types and sizes.
   */
  attachments?: readonly QueryAttachment[] | undefined;
  /** The id of the conversation that the query continues, or begins: see {@link McpWeb.conversation}. */
  conversation?: string | undefined;
  /**
   * Maximum duration, in milliseconds from 1. The bridge has its own limit (`query_timeout`), which applies if it is
   * shorter. Until the query is accepted, including without a connection, only this one applies.
   */
  timeout?: number | undefined;
  /** The trace that the query belongs to, as HTTP headers: {@link CallFacts.trace} in a handler. */
  trace?: { readonly [header: string]: string } | undefined;
}

/** A picture or file: a `File` or another `Blob`, or its content as base64. */
export type QueryAttachment = Blob | { mimeType: string; data: string; name?: string | undefined };

/** Knowledge for the agent: a fact, or the result of a tool of the page. */
export type QueryContext =
  | ToolReference
  | {
      tool: ToolReference;
      /** The arguments of its handler. @defaultValue `{}` */
      arguments?: object | undefined;
    }
  | {
      name: string;
      /** Any JSON value. */
      value: unknown;
      /** The schema of `value`. */
      schema?: JsonSchema | undefined;
      /** The meaning of `value`. */
      description?: string | undefined;
    };

/** Options of {@link McpWeb.query} and {@link McpWeb.attachQuery}. */
export interface QuerySignal {
  /** Cancels the query when it is aborted; {@link Query.result} is then rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link McpWeb.attachQuery}. */
export interface AttachOptions extends QuerySignal {
  /** Like {@link QueryOptions.approvalDialog}, which is unknown in a document other than the one that sent the query. */
  approvalDialog?: boolean | undefined;
}

/**
 * A query that was sent.
 *
 * It need not be observed: an unobserved failure is written to the console, and is not an unhandled rejection.
 *
 * @example
 * ```js
 * const query = mcpWeb.query({ prompt: "Which cards are late?" });
 * for await (const event of query) if (event.type === "text") output.append(event.text);
 * const { text } = await query.result;
 * ```
 */
export interface Query<Arguments extends object = any, Value = any> extends AsyncIterable<QueryEvent> {
  /** The id of the query; see {@link McpWeb.attachQuery}. */
  readonly uuid: string;
  /**
   * `waiting` until an agent has accepted it: for the connection, for its context, or for the agent. Then `running`, and in
   * the end one of the others.
   */
  readonly state: "waiting" | "running" | "complete" | "failed" | "cancelled";
  /**
   * The answer. Rejected with a {@link McpWebError} (`code`, `message`, and `remedy` if there is one) if the query fails or
   * is cancelled, or with the reason of the signal that has cancelled it.
   */
  readonly result: Promise<QueryResult<Arguments, Value>>;
  /**
   * Iterates over the progress that the agent reports. Each loop starts from the beginning. It ends with the query, by
   * throwing the error that {@link Query.result} is rejected with. Leaving the loop does not cancel the query. At most 256
   * KiB are stored for late readers; a `note` reports dropped events.
   */
  [Symbol.asyncIterator](): AsyncGenerator<QueryEvent, void, undefined>;
  /**
   * Cancels the query, because the answer is no longer needed: its running calls are cancelled, and no further tool runs
   * for it. Has no effect once it has ended.
   *
   * @param reason for the agent, and the message of the error
   */
  cancel(reason?: string): void;
  /**
   * Answers an `approval-requested` event: the call is made or refused. Has no effect if the request was already answered
   * or has expired. To allow a call, call this in the handler of a click or a key: until the app has answered, page tools
   * wait.
   *
   * @param id the `id` of the event
   * @throws McpWebError with the code `PersonRequired` if a call is allowed without a recent action of the person after the
   * request, unless {@link McpWebOptions.approvals} is `"app"`.
   */
  approve(id: string, approved?: boolean): void;
}

/** The answer to a query. */
export interface QueryResult<Arguments extends object = any, Value = any> {
  /** The final text of the agent. */
  text?: string;
  /** The call of {@link QueryOptions.responseTool} that has completed the query, with its result. */
  response?: { arguments: Arguments; result: any };
  /** The answer that matches {@link QueryOptions.responseSchema}, or the JSON value of another agent. */
  value?: Value;
  /** The calls of this page's tools, in the order in which they ended, and then those of the agent's own tools. */
  toolCalls: QueryToolCall[];
  /** The usage of the query, as far as the provider of the model reports it. */
  usage?: QueryUsage;
}

/** The usage of a query. */
export interface QueryUsage {
  /** The tokens by the name of the model. */
  models: Record<string, TokenUsage>;
  /** The time since the agent has accepted the query. */
  milliseconds: number;
}

/** The tokens of a model. */
export interface TokenUsage {
  /** The tokens of the input, including those from the provider's cache. */
  input: number;
  /** The tokens of the output, including those for thinking. */
  output: number;
  /** The tokens of the input that were in the provider's cache. */
  cached: number;
  /** The tokens of the output that the model has used for thinking. */
  thinking: number;
}

/** A call that the agent has made. */
export interface QueryToolCall {
  /** The name of the tool. */
  tool: string;
  /** The source of the tool, if it is one of the agent's own; absent for a tool of this page. */
  source?: string;
  /** The arguments, as the agent sent them. */
  arguments: any;
  /**
   * The value that the handler returned; an object with `error` if it failed. For a tool with a `source`, the beginning as
   * text.
   */
  result?: any;
}

/** A progress event of an agent. */
export type QueryEvent =
  /** A piece of the answer, to append to the earlier pieces. */
  | { readonly type: "text"; readonly text: string }
  /** A piece of the model's thoughts, if the model shows them. */
  | { readonly type: "thinking"; readonly text: string }
  /**
   * The model is writing the arguments of a call; `id` is the same when the tool is called. `arguments` is the value
   * written so far, such as `{ title: "Mil" }`. With {@link QueryOptions.responseSchema}, the tool is `answer`, and
   * `arguments` is the answer; an answer that is not an object is in its property `value`.
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
  /** The usage of the query so far; reported after each turn of the model. */
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
  /** A call has ended; `error` is the reason if it failed. */
  | {
      readonly type: "tool-finished";
      readonly id: string;
      readonly tool: string;
      /** The source of the tool, if it is one of the agent's own; absent for a tool of this page. */
      readonly source?: string;
      /** The beginning of the result of a tool with a `source`, which this page has not seen: at most 2 KiB. */
      readonly result?: string;
      readonly isError: boolean;
      readonly error?: string;
      /**
       * The reason of a failure, for programs: `tool_error`, `invalid_args`, `denied` by the user or the operator,
       * `rate_limited`, `timeout`, `unavailable`.
       */
      readonly outcome?: string;
    }
  /** Information that may interest the user: the model is busy, a limit is near. */
  | { readonly type: "note"; readonly text: string }
  /** The progress of an agent that is not of this project, in its own text or JSON. */
  | { readonly type: "progress"; readonly content: any };

/** The options, texts and events of `<mcp-web-ask>`. */

import type { McpWebError } from "../mcp-web/error.ts";
import type { Query, QueryEvent, QueryOptions, QueryResult } from "./query.ts";

/** The options of `mcpWeb.query()` besides the prompt. The element itself asks about calls that need approval. */
export type AskOptions = Omit<QueryOptions, "prompt" | "approvalDialog">;

/** A value, or a function that returns it for each question. It receives the prompt. */
export type ForEachQuestion<Value> = Value | ((prompt: string) => Value | Promise<Value>);

/** A button that sends a question. */
export interface AskSuggestion {
  /** The text of the button, and of the question in the conversation. */
  label: string;
  /**
   * The prompt for the agent. If it differs from `label`, the conversation shows it below the question on request.
   *
   * @defaultValue `label`
   */
  prompt?: string | (() => string);
  /** More options for this question. They replace those of the element. */
  options?: ForEachQuestion<AskOptions | undefined>;
}

/**
 * The texts of `<mcp-web-ask>`, such as a translation. Missing ones are English.
 *
 * The element takes the rest from the page: the colour scheme and the font are those of its parent, and these custom
 * properties replace colours and corners: `--mcp-web-font` (a value of the CSS property `font`), `--mcp-web-accent`,
 * `--mcp-web-accent-text`, `--mcp-web-background`, `--mcp-web-text`, `--mcp-web-muted`, `--mcp-web-border`,
 * `--mcp-web-error`, `--mcp-web-radius`. `--mcp-web-ask-max-height` is the maximum height of the conversation.
 */
export interface AskStrings {
  /** The name of the whole box, and of its input. @defaultValue `Ask AI` */
  label?: string;
  /** The placeholder of the empty input. @defaultValue `Ask, or say what to change` */
  placeholder?: string;
  /** The button that sends a question. @defaultValue `Ask AI` */
  send?: string;
  /** The button that stops the answer. @defaultValue `Stop` */
  stop?: string;
  /** The button that sends a question again. @defaultValue `Try again` */
  retry?: string;
  /** The button that copies an answer. @defaultValue `Copy` */
  copy?: string;
  /** Replaces `copy` for two seconds once the answer is copied. @defaultValue `Copied` */
  copied?: string;
  /** Replaces `copy` for two seconds if the browser does not allow it. @defaultValue `Not copied` */
  copyFailed?: string;
  /** The button that removes all questions and answers. @defaultValue `New conversation` */
  clear?: string;
  /** The name of the list of questions and answers. @defaultValue `Conversation` */
  conversation?: string;
  /** The name of the group of suggestions. @defaultValue `Suggestions` */
  suggestions?: string;
  /** The text that screen readers announce before a question. @defaultValue `You asked:` */
  question?: string;
  /** The prompt of a question, which is collapsed at first. @defaultValue `Prompt` */
  prompt?: string;
  /** The thoughts of the model, which are collapsed at first. @defaultValue `Thinking` */
  thinking?: string;
  /** The state of a question that no agent has accepted yet. @defaultValue `Waiting for the agent` */
  waiting?: string;
  /** The state of a question that is being answered. @defaultValue `Working` */
  running?: string;
  /** The state of a question whose answer has no text. @defaultValue `Done` */
  done?: string;
  /** The state of a question that was stopped. @defaultValue `Stopped` */
  cancelled?: string;
  /**
   * The error of a question whose answer is no longer known after a reload.
   *
   * @defaultValue `The page was left before the answer came.`
   */
  interrupted?: string;
  /**
   * The displayed name of a tool. `source` is that of one of the agent's own tools, whose name usually begins with it, such
   * as `notes-read_file`.
   *
   * @defaultValue the name of the tool; with a source, the name without the source, followed by the source, such as
   * `read_file (notes)`
   */
  tool?: (name: string, source?: string) => string;
  /** The state of a call, after the name of its tool. @defaultValue the state in English */
  callState?: (state: AskCallState) => string;
  /** The question whether a tool may be called. `tool` is its displayed name. @defaultValue `May the AI use ${tool}?` */
  approval?: (tool: string) => string;
  /**
   * The text below the question whether a tool of the agent may be called. `source` is the source of the tool.
   *
   * @defaultValue `It is not a tool of this page, but of “${source}”.`
   */
  sourceTool?: (source: string) => string;
  /** The heading of the result of an agent's tool, which is collapsed at first. @defaultValue `Result` */
  result?: string;
  /**
   * The link to a picture whose data is not in the answer, and which is therefore not loaded.
   *
   * @defaultValue `Picture: ${text}`
   */
  image?: (text: string) => string;
  /**
   * The meaning of a failure with advice, for the person at the page. `undefined` for the English text of its code. The
   * message of the error is shown below, in small print.
   */
  failure?: (error: AskFailure) => string | undefined;
}

/** The state of a call by the agent. `waiting` means that the person must allow or refuse it. */
export type AskCallState = "waiting" | "running" | "done" | "failed" | "cancelled";

/** Why a question was not answered. */
export interface AskFailure {
  /** {@link McpWebError.code}; `undefined` if the failure is not from the SDK. */
  code?: McpWebError["code"] | undefined;
  /** A description of the failure. */
  message: string;
  /** Advice, if there is any. `message` also contains it. */
  remedy?: string | undefined;
}

/** A question that was sent: the detail of the event `mcp-web-ask-start`, and a part of the others. */
export interface AskDetail {
  /** The prompt for the agent. */
  readonly prompt: string;
  /** The query, for its progress and its uuid. */
  readonly query: Query;
}

/** The events of `<mcp-web-ask>`. They bubble, also out of shadow roots, and are not cancelable. */
export interface AskEventMap {
  /** A question was sent, or is resumed after a reload. */
  "mcp-web-ask-start": CustomEvent<AskDetail>;
  /** The agent reports progress. */
  "mcp-web-ask-progress": CustomEvent<AskDetail & { readonly event: QueryEvent }>;
  /** A question was answered. */
  "mcp-web-ask-complete": CustomEvent<AskDetail & { readonly result: QueryResult }>;
  /** A question has failed. A question that was never sent has no query. */
  "mcp-web-ask-error": CustomEvent<Omit<AskDetail, "query"> & { readonly query: Query | undefined; readonly error: unknown }>;
  /** A question was stopped. */
  "mcp-web-ask-cancel": CustomEvent<Omit<AskDetail, "query"> & { readonly query: Query | undefined }>;
}

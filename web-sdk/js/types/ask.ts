/** What `<mcp-web-ask>` takes, shows and reports. */

import type { McpWebError } from "../mcp-web/error.ts";
import type { Query, QueryEvent, QueryOptions, QueryResult } from "./query.ts";

/** What `mcpWeb.query()` takes besides the prompt. The element itself asks about calls that must be approved. */
export type AskOptions = Omit<QueryOptions, "prompt" | "approvalDialog">;

/** A value, or a function that returns it for each question. It gets the prompt. */
export type ForEachQuestion<Value> = Value | ((prompt: string) => Value | Promise<Value>);

/** A button that asks a question. */
export interface AskSuggestion {
  /** The text of the button, and the question that the conversation shows. */
  label: string;
  /**
   * What the agent is asked. Where it differs from `label`, the conversation shows it below the question on request.
   *
   * @defaultValue `label`
   */
  prompt?: string | (() => string);
  /** More options for this question. They replace those of the element. */
  options?: ForEachQuestion<AskOptions | undefined>;
}

/**
 * The words of `<mcp-web-ask>`, such as a translation. Those that are not given are English.
 *
 * The element takes the rest from the page: the colour scheme and the font are those of its parent, and these custom
 * properties replace colours and corners: `--mcp-web-font` (a value of the CSS property `font`), `--mcp-web-accent`,
 * `--mcp-web-accent-text`, `--mcp-web-background`, `--mcp-web-text`, `--mcp-web-muted`, `--mcp-web-border`,
 * `--mcp-web-error`, `--mcp-web-radius`. `--mcp-web-ask-max-height` is the largest height of the conversation.
 */
export interface AskStrings {
  /** The name of the whole box, and of its input. @defaultValue `Ask AI` */
  label?: string;
  /** Stands in the empty input. @defaultValue `Ask, or say what to change` */
  placeholder?: string;
  /** The button that asks. @defaultValue `Ask AI` */
  send?: string;
  /** The button that stops the answer. @defaultValue `Stop` */
  stop?: string;
  /** The button that asks a question again. @defaultValue `Try again` */
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
  /** What screen readers say before a question. @defaultValue `You asked:` */
  question?: string;
  /** The prompt of a question, which is closed at first. @defaultValue `Prompt` */
  prompt?: string;
  /** What the model thinks, which is closed at first. @defaultValue `Thinking` */
  thinking?: string;
  /** The state of a question that no agent has taken yet. @defaultValue `Waiting for the agent` */
  waiting?: string;
  /** The state of a question that is being answered. @defaultValue `Working` */
  running?: string;
  /** The state of a question whose answer has no text. @defaultValue `Done` */
  done?: string;
  /** The state of a question that was stopped. @defaultValue `Stopped` */
  cancelled?: string;
  /** The error of a question whose answer is not known any more after a reload. @defaultValue `The page was left before the answer came.` */
  interrupted?: string;
  /**
   * The name that a tool is shown with. `source` is that of a tool which is the agent's own, whose name usually begins with
   * it, such as `notes-read_file`.
   *
   * @defaultValue the name of the tool, and with a source the name without the source, and the source, such as
   * `read_file (notes)`
   */
  tool?: (name: string, source?: string) => string;
  /** The state of a call, after the name of its tool. @defaultValue the state in English */
  callState?: (state: AskCallState) => string;
  /** Asks whether a tool may be called. `tool` is its name as it is shown. @defaultValue `May the AI use ${tool}?` */
  approval?: (tool: string) => string;
  /**
   * Stands below the question whether a tool of the agent may be called. `source` is the source of the tool.
   *
   * @defaultValue `It is not a tool of this page, but of “${source}”.`
   */
  sourceTool?: (source: string) => string;
  /** Stands above what a tool of the agent has returned, which is closed at first. @defaultValue `Result` */
  result?: string;
  /** The link to a picture whose data is not in the answer: it is not loaded. @defaultValue `Picture: ${text}` */
  image?: (text: string) => string;
  /**
   * What a failure means and what to do, for the person at the page. `undefined` for the English text of its code.
   * The message of the error is shown below, in small print.
   */
  failure?: (error: AskFailure) => string | undefined;
}

/** The state of a call that the agent makes. `waiting`: for the person, who allows it or not. */
export type AskCallState = "waiting" | "running" | "done" | "failed" | "cancelled";

/** Why a question was not answered. */
export interface AskFailure {
  /** {@link McpWebError.code}; `undefined` when something else than the SDK has failed. */
  code?: McpWebError["code"] | undefined;
  /** What happened. */
  message: string;
  /** What to do, where it is known. `message` has it, too. */
  remedy?: string | undefined;
}

/** A question that was asked: the detail of the event `mcp-web-ask-start`, and a part of the others. */
export interface AskDetail {
  /** What the agent was asked. */
  readonly prompt: string;
  /** The query, for its progress and its uuid. */
  readonly query: Query;
}

/** The events of `<mcp-web-ask>`. They bubble, also out of shadow roots, and cannot be cancelled. */
export interface AskEventMap {
  /** A question was sent, or is taken up again after a reload. */
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

/** Conversations: queries that know the earlier ones. */

import type { InferInput, ToolSchema } from "./infer.ts";
import type { Query, QueryOptions, QuerySignal } from "./query.ts";

/** Options of {@link McpWeb.conversation}. */
export interface ConversationOptions {
  /**
   * The id of the conversation: 1 to 64 visible ASCII characters, but not `.` or `..`. Without one, a new conversation
   * begins.
   */
  id?: string | undefined;
}

/**
 * A conversation with the agent: each query knows the prompts, calls and answers of the earlier ones. The agent stores it
 * for the user and the app.
 *
 * @example
 * ```js
 * const conversation = mcpWeb.conversation();
 * await conversation.query({ prompt: "Which cards are late?" }).result;
 * await conversation.query({ prompt: "Move the first of them to today" }).result;
 * ```
 */
export interface Conversation {
  /** The id of the conversation. Store it to continue later, also in another tab or after a reload. */
  readonly id: string;
  /** Sends the next query: see {@link McpWeb.query}. */
  query<const Schema extends ToolSchema>(
    options: QueryOptions & { responseSchema: Schema },
    signal?: QuerySignal,
  ): Query<any, InferInput<Schema>>;
  /** Sends the next query, whose answer is a text or a call of a tool. */
  query<Arguments extends object = any>(options: QueryOptions, signal?: QuerySignal): Query<Arguments>;
  /** Returns the messages so far; nothing if the agent does not know the conversation. */
  history(): Promise<ConversationMessage[]>;
  /** Deletes the conversation. The next query begins it again. */
  clear(): Promise<void>;
}

/** A conversation in the list of {@link McpWeb.conversations}. */
export interface ConversationSummary {
  /** The id of the conversation. */
  id: string;
  /** The beginning of the first prompt. */
  title: string;
  /** The number of queries that the agent has stored. */
  queries: number;
  /** Their size. */
  bytes: number;
  /** The time of the first query, as a date in the format of RFC 3339. */
  createdAt: string;
  /** The time of the latest query. */
  updatedAt: string;
}

/** A message of a conversation. */
export type ConversationMessage =
  | {
      role: "user";
      /** The prompt. */
      text: string;
      /** The attachments, without their content. */
      attachments?: { name?: string; mimeType: string }[];
    }
  | {
      role: "assistant";
      text: string;
      /** The calls of tools that the agent made after this text. */
      toolCalls: { id: string; tool: string; arguments: any; result?: string; isError: boolean }[];
    };

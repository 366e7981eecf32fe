/** The conversations that the agent keeps, over HTTP. */

import type { ConversationMessage, ConversationSummary } from "../types/conversation.ts";
import type { McpWeb } from "../mcp-web.ts";
import type { CreateError } from "./messages.ts";

/** What this file uses of the page. */
export type ConversationsPage = Pick<McpWeb, "bridgeUrl" | "authToken" | "sessionId">;

export class Conversations {
  readonly #page: ConversationsPage;
  readonly #createError: CreateError;

  constructor(page: ConversationsPage, createError: CreateError) {
    this.#page = page;
    this.#createError = createError;
  }

  async list(): Promise<ConversationSummary[]> {
    const { conversations } = await this.#fetch("GET", "");
    return conversations;
  }

  async history(id: string): Promise<ConversationMessage[]> {
    const conversation = await this.#fetch("GET", `/${encodeURIComponent(id)}`);
    return conversation?.messages ?? [];
  }

  async clear(id: string): Promise<void> {
    await this.#fetch("DELETE", `/${encodeURIComponent(id)}`);
  }

  /** Returns the answer of the bridge; nothing for a conversation that does not exist. */
  async #fetch(method: string, path: string): Promise<any> {
    const { bridgeUrl, authToken, sessionId } = this.#page;
    const address = `${bridgeUrl}/conversations${path}?sessionId=${encodeURIComponent(sessionId!)}`;
    let response;
    try {
      response = await fetch(address, { method, headers: { authorization: `Bearer ${authToken}` } });
    } catch (cause) {
      throw this.#createError("BridgeUnreachable", "the conversations cannot be had", "see mcpWeb.status", { cause });
    }
    if (response.status === 204) return undefined;
    const body = await response.json().catch(() => ({}));
    if (response.ok) return body;
    const { code = body.error, message = `HTTP ${response.status}` } = body;
    if (code === "ConversationNotFound") return undefined;
    throw this.#createError(code ?? "AgentFailed", message, "see that the bridge has an agent");
  }
}

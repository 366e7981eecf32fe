/** The conversations that the agent stores, over HTTP. */

import type { ConversationMessage, ConversationSummary } from "../types/conversation.ts";
import type { McpWebError } from "../mcp-web/error.ts";
import type { McpWebErrorCode } from "../types/error-codes.ts";
import type { CreateError } from "./messages.ts";

/** The id of a conversation. It is a segment of a URL, where one or two dots alone would be resolved. */
export const CONVERSATION_ID = /^(?!\.{1,2}$)[!-~]{1,64}$/;
export const CONVERSATION_ID_REMEDY = "pass 1 to 64 visible ASCII characters but not . or .., or use mcpWeb.conversation()";

/** Maximum duration of a request, in milliseconds: longer than a bridge waits for its agent by default. */
const REQUEST_TIMEOUT_MS = 60_000;

/** The part of the page that this file uses. */
export interface ConversationsPage {
  readonly bridgeUrl: string;
  readonly authToken: string | undefined;
  readonly sessionId: string | undefined;
}

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
    const conversation = await this.#fetch("GET", this.#path(id));
    return conversation?.messages ?? [];
  }

  async clear(id: string): Promise<void> {
    await this.#fetch("DELETE", this.#path(id));
  }

  #path(id: string): string {
    if (!CONVERSATION_ID.test(id)) throw this.#createError("QueryInvalid", `"${id}" is not the id of a conversation`, CONVERSATION_ID_REMEDY);
    return `/${encodeURIComponent(id)}`;
  }

  /** Returns the response of the bridge, or nothing if the conversation does not exist. */
  async #fetch(method: string, path: string): Promise<any> {
    const { bridgeUrl, authToken, sessionId } = this.#page;
    if (authToken === undefined) throw this.#failure("MissingAuthentication", "wait until mcpWeb.status is connected");
    const address = `${bridgeUrl}/conversations${path}?sessionId=${encodeURIComponent(sessionId!)}`;
    let response: Response;
    let text: string;
    try {
      const headers = { authorization: `Bearer ${authToken}` };
      response = await fetch(address, { method, headers, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
      text = await response.text();
    } catch (cause) {
      throw this.#failure("BridgeUnreachable", "see mcpWeb.status", { cause });
    }
    if (response.status === 204) return undefined;
    const body = parseObject(text);
    if (response.ok && body) return body;
    const answer = `the answer of the bridge is HTTP ${response.status}${body ? "" : " without JSON"}`;
    const { error, code = error ?? "AgentFailed", message = answer } = body ?? {};
    if (code === "ConversationNotFound") return undefined;
    throw this.#createError(code, message, "see that the bridge has an agent");
  }

  #failure(code: McpWebErrorCode, remedy: string, options?: ErrorOptions): McpWebError {
    return this.#createError(code, "the conversations cannot be had", remedy, options);
  }
}

/** Parses a JSON text as an object; `undefined` if it is not one. */
function parseObject(text: string): { [field: string]: any } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value ?? undefined) : undefined;
  } catch {
    return undefined;
  }
}

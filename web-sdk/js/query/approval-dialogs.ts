/** The dialogs in which the user of the page is asked whether the agent may make calls of a query. */

import type { ApprovalRequest } from "../dialog/request.ts";
import type { ElicitAnswer } from "../types/calls.ts";
import type { QueryEvent } from "../types/query.ts";
import { MAX_TIMER_MS } from "./messages.ts";

/** Asks in a dialog, which `signal` closes. */
export type RequestApproval = (request: ApprovalRequest, signal: AbortSignal) => Promise<ElicitAnswer<object>>;

type ApprovalEvent = QueryEvent & { type: "approval-requested" };

/** The dialogs of one query. The dialogs of all queries are shown one after the other. */
export class ApprovalDialogs {
  readonly #request: RequestApproval;
  readonly #answer: (id: string, approved: boolean) => void;
  /** What closes the dialogs that are shown or wait for their turn, by the ids of their calls. */
  readonly #open = new Map<string, AbortController>();

  /** `answer` gets the answers of the user. */
  constructor(request: RequestApproval, answer: (id: string, approved: boolean) => void) {
    this.#request = request;
    this.#answer = answer;
  }

  /** An event of the query. `isAsking`: whether the user is asked in a dialog if this is a request. */
  onEvent(event: QueryEvent, isAsking: boolean): void {
    if (event.type === "approval-requested") {
      // The agent may ask about the same call again.
      this.close(event.id);
      if (isAsking) void this.#ask(event);
    }
    // Somebody else has answered, or nobody in time.
    if (event.type === "tool-started" || event.type === "tool-finished") this.close(event.id);
  }

  close(id: string): void {
    this.#open.get(id)?.abort();
  }

  closeAll(): void {
    for (const controller of this.#open.values()) controller.abort();
  }

  async #ask({ id, tool, source, arguments: args, expiresInMs }: ApprovalEvent): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    this.#open.set(id, controller);
    const isLimited = Number.isFinite(expiresInMs);
    const expiresAt = isLimited ? performance.now() + expiresInMs : undefined;
    const timer = isLimited ? setTimeout(() => controller.abort(), Math.min(expiresInMs, MAX_TIMER_MS)) : undefined;
    try {
      const { action } = await this.#request({ tool, source, arguments: args, expiresAt }, signal);
      if (!signal.aborted) this.#answer(id, action === "accept");
    } catch (error) {
      if (!signal.aborted) console.warn(`mcp-web: the user cannot be asked whether "${tool}" may be called: ${(error as Error).message}`);
    } finally {
      clearTimeout(timer);
      if (this.#open.get(id) === controller) this.#open.delete(id);
    }
  }
}

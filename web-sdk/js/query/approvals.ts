/**
 * The calls of one query that need the approval of the page's user: in a dialog of the SDK, or with the app's own buttons.
 */

import type { ApprovalRequest } from "../dialog/request.ts";
import { isPersonActing, watchPerson } from "../person/activation.ts";
import { openQuestion } from "../person/tab.ts";
import type { ElicitAnswer } from "../types/calls.ts";
import type { QueryEvent } from "../types/query.ts";
import { MAX_TIMER_MS } from "./messages.ts";

/** Asks in a dialog, which is closed by `signal`. */
export type RequestApproval = (request: ApprovalRequest, signal: AbortSignal) => Promise<ElicitAnswer<object>>;

/** The way in which the person is asked: a dialog of the SDK, the app's own buttons, or an app that answers by itself. */
export type Asker = "dialog" | "person" | "app";

type ApprovalEvent = QueryEvent & { type: "approval-requested" };

/** A request that was not answered yet. */
interface OpenRequest {
  /** When it arrived, in milliseconds since 1970. */
  requestedAt: number;
  /** Fires when the request is closed. */
  controller: AbortController;
}

/** The requests of one query. The dialogs of all queries are shown one at a time. */
export class Approvals {
  readonly #request: RequestApproval;
  readonly #answer: (id: string, approved: boolean) => void;
  /** By the ids of their calls. */
  readonly #open = new Map<string, OpenRequest>();

  /** `answer` receives the answers of the dialogs. */
  constructor(request: RequestApproval, answer: (id: string, approved: boolean) => void) {
    this.#request = request;
    this.#answer = answer;
  }

  /** Handles an event of the query. */
  onEvent(event: QueryEvent, asker: Asker): void {
    if (event.type === "approval-requested") {
      // The agent may ask about the same call again.
      this.close(event.id);
      this.#onRequest(event, asker);
    }
    // The request was answered elsewhere, or expired.
    if (event.type === "tool-started" || event.type === "tool-finished") this.close(event.id);
  }

  /** Returns whether the app allows a call because of an action of the person after the call was requested. */
  isAnsweredByPerson(id: string): boolean {
    return isPersonActing(this.#open.get(id)?.requestedAt);
  }

  close(id: string): void {
    this.#open.get(id)?.controller.abort();
    this.#open.delete(id);
  }

  closeAll(): void {
    for (const id of [...this.#open.keys()]) this.close(id);
  }

  #onRequest(event: ApprovalEvent, asker: Asker): void {
    const { id, tool, expiresInMs } = event;
    const controller = new AbortController();
    const { signal } = controller;
    if (typeof document === "object") watchPerson([window]);
    this.#open.set(id, { requestedAt: Date.now(), controller });
    const expiresAt = Number.isFinite(expiresInMs) ? performance.now() + expiresInMs : undefined;
    if (expiresAt !== undefined) {
      const timer = setTimeout(() => this.close(id), Math.min(expiresInMs, MAX_TIMER_MS));
      signal.addEventListener("abort", () => clearTimeout(timer));
    }
    if (asker === "dialog") void this.#ask(event, expiresAt, signal);
    // The app's buttons are in the page, so page tools wait until the person has used them.
    if (asker === "person") signal.addEventListener("abort", openQuestion(`whether the AI may use ${tool}`));
  }

  async #ask({ id, tool, source, arguments: args }: ApprovalEvent, expiresAt: number | undefined, signal: AbortSignal): Promise<void> {
    try {
      const { action } = await this.#request({ tool, source, arguments: args, expiresAt }, signal);
      if (!signal.aborted) this.#answer(id, action === "accept");
    } catch (error) {
      if (!signal.aborted) console.warn(`mcp-web: the user cannot be asked whether "${tool}" may be called: ${(error as Error).message}`);
    }
  }
}

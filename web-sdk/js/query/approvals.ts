/** The calls of one query that the user of the page is asked about: in a dialog of the SDK, or by the app's own buttons. */

import type { ApprovalRequest } from "../dialog/request.ts";
import { isPersonActing, watchPerson } from "../person/activation.ts";
import { openQuestion } from "../person/tab.ts";
import type { ElicitAnswer } from "../types/calls.ts";
import type { QueryEvent } from "../types/query.ts";
import { MAX_TIMER_MS } from "./messages.ts";

/** Asks in a dialog, which `signal` closes. */
export type RequestApproval = (request: ApprovalRequest, signal: AbortSignal) => Promise<ElicitAnswer<object>>;

/** Who asks the person: a dialog of the SDK, the app's own buttons, or an app that answers by itself. */
export type Asker = "dialog" | "person" | "app";

type ApprovalEvent = QueryEvent & { type: "approval-requested" };

/** A request that was not answered yet. */
interface OpenRequest {
  /** When it arrived, in milliseconds since 1970. */
  requestedAt: number;
  /** Fires when it is closed. */
  controller: AbortController;
}

/** The requests of one query. The dialogs of all queries are shown one after the other. */
export class Approvals {
  readonly #request: RequestApproval;
  readonly #answer: (id: string, approved: boolean) => void;
  /** By the ids of their calls. */
  readonly #open = new Map<string, OpenRequest>();

  /** `answer` gets the answers of the dialogs. */
  constructor(request: RequestApproval, answer: (id: string, approved: boolean) => void) {
    this.#request = request;
    this.#answer = answer;
  }

  /** An event of the query. */
  onEvent(event: QueryEvent, asker: Asker): void {
    if (event.type === "approval-requested") {
      // The agent may ask about the same call again.
      this.close(event.id);
      this.#onRequest(event, asker);
    }
    // Somebody else has answered, or nobody in time.
    if (event.type === "tool-started" || event.type === "tool-finished") this.close(event.id);
  }

  /** Whether the person has done something since a call was requested, and it is for that that the app allows it. */
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
    // The buttons of the app are in the page: page tools wait until the person has used them.
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

/** The app, in a process of a user: what pages need is here, and all else is asked of the host. */

import { serializer } from "@lowdefy/helpers";

import type { AppPageSummary, PageRequest, RootConfig } from "../engine/app.ts";
import type { PageConfig } from "../engine/engine-types.ts";
import type { PagePlugins } from "../engine/plugins.ts";
import type { SessionLimits } from "../engine/session-limits.ts";
import type { SessionApp } from "../engine/session.ts";
import type { Question } from "../processes/messages.ts";

/** Asks the host about a session. */
export type AskHost = (question: Question, sessionId: string, input: object) => Promise<unknown>;

/** The app as one session uses it. */
export class RemoteApp implements SessionApp {
  readonly plugins: PagePlugins;
  readonly limits: SessionLimits;
  readonly #ask: (question: Question, input?: object) => Promise<unknown>;

  constructor(sessionId: string, plugins: PagePlugins, limits: SessionLimits, ask: AskHost) {
    this.plugins = plugins;
    this.limits = limits;
    this.#ask = (question, input = {}) => ask(question, sessionId, input);
  }

  /** The engine changes what it is given: each answer is a copy. */
  async rootConfig(): Promise<RootConfig> {
    return serializer.deserialize(await this.#ask("root")) as RootConfig;
  }

  async page(pageId: string): Promise<PageConfig | undefined> {
    return serializer.deserialize((await this.#ask("page", { pageId })) ?? undefined) as PageConfig | undefined;
  }

  async pages(): Promise<AppPageSummary[]> {
    return (await this.#ask("pages")) as AppPageSummary[];
  }

  request(request: PageRequest): Promise<unknown> {
    return this.#ask("request", request);
  }
}

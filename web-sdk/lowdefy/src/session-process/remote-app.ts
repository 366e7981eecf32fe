/** The app in a process of a user: the parts that pages need are here, and the rest is requested from the host. */

import { serializer } from "@lowdefy/helpers";

import type { AppPageSummary, LowdefyRequest, RootConfig } from "../engine/app.ts";
import type { PageConfig } from "../engine/engine-types.ts";
import type { PagePlugins } from "../engine/plugins.ts";
import { countValues } from "../engine/json-values.ts";
import { type StateLimits, maxStateValues } from "../engine/state-limits.ts";
import type { SessionApp } from "../engine/session.ts";
import { handlerFailed } from "../processes/call-failure.ts";
import type { HostCall, HostMethod } from "../processes/messages.ts";

/** Calls the host about any session. */
export type CallHost = (call: HostCall) => Promise<unknown>;

/** The app as one session uses it. */
export class RemoteApp implements SessionApp {
  readonly plugins: PagePlugins;
  readonly limits: StateLimits;
  readonly #call: (method: HostMethod, input: Record<string, unknown>) => Promise<unknown>;

  constructor(plugins: PagePlugins, limits: StateLimits, call: (method: HostMethod, input: Record<string, unknown>) => Promise<unknown>) {
    this.plugins = plugins;
    this.limits = limits;
    this.#call = call;
  }

  /** The engine modifies its inputs, so each answer is a copy. */
  async rootConfig(): Promise<RootConfig> {
    return serializer.deserialize(await this.#call("root", {})) as RootConfig;
  }

  async page(pageId: string): Promise<PageConfig | undefined> {
    return serializer.deserialize((await this.#call("page", { pageId })) ?? undefined) as PageConfig | undefined;
  }

  async pages(): Promise<AppPageSummary[]> {
    return (await this.#call("pages", {})) as AppPageSummary[];
  }

  request(request: LowdefyRequest): Promise<unknown> {
    return this.#call("request", { ...request });
  }

  async save(pageId: string, saved: unknown): Promise<void> {
    const most = maxStateValues(this.limits);
    if (countValues(saved) > most) throw handlerFailed("StateTooLarge", `the actions were done, and the session could not be saved: it has more than ${most} values (maxStateBytes / 20). Remove data from the page`);
    await this.#call("save", { pageId, saved });
  }
}

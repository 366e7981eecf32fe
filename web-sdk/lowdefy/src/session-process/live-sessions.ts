/** The sessions that a process has in memory, as decided by the host. */

import { PageCalls, type PageToolsOptions } from "mcp-web-sdk/page-driver";

import { LowdefyDriver } from "../driver/driver.ts";
import type { PagePlugins } from "../engine/plugins.ts";
import type { SavedSession } from "../engine/saved-session.ts";
import type { StateLimits } from "../engine/state-limits.ts";
import { AppSession } from "../engine/session.ts";
import type { SessionCall } from "../processes/messages.ts";
import { type CallHost, RemoteApp } from "./remote-app.ts";

interface LiveSession {
  session: AppSession;
  calls: PageCalls;
}

/** Parts that all sessions of a process share. */
export interface SessionEnvironment {
  plugins: PagePlugins;
  limits: StateLimits;
  pageTools: PageToolsOptions;
  callHost: CallHost;
}

/** The sessions of one process. */
export class LiveSessions {
  readonly #environment: SessionEnvironment;
  readonly #live = new Map<string, Promise<LiveSession>>();

  constructor(environment: SessionEnvironment) {
    this.#environment = environment;
  }

  /** Makes a call in a session. @throws the error of the call, with `isLost` if the session is not here. */
  async run(call: SessionCall, signal: AbortSignal): Promise<unknown> {
    if (call.method === "create") return this.#create(call, signal);
    const { session, calls } = await this.#session(call);
    await session.setUser(call.user);
    const context = contextOf(call, signal);
    const { args, method } = call;
    switch (method) {
      case "navigate":
        return calls.navigate(args, context);
      case "interact":
        return calls.interact(args, context);
      case "snapshot":
        return calls.snapshot(args, context);
      case "query":
        return calls.query(args, context);
      case "state":
        return calls.state(context);
      case "pages":
        return calls.pages(context);
    }
  }

  forget(sessionId: string): void {
    this.#live.delete(sessionId);
  }

  /** Opens a session: its first page, with the page's events. */
  async #create(call: SessionCall, signal: AbortSignal): Promise<object> {
    const live = this.#open(call);
    await live.session.start();
    signal.throwIfAborted();
    this.#live.set(call.sessionId, Promise.resolve(live));
    return { pageId: live.session.pageId, saved: live.session.save(), ...live.session.activity.take() };
  }

  async #session(call: SessionCall): Promise<LiveSession> {
    const { sessionId, saved } = call;
    if (saved !== undefined) this.#live.set(sessionId, this.#restore(call, saved as SavedSession));
    const live = this.#live.get(sessionId);
    if (!live) throw Object.assign(new Error("the session is not in memory any more: try again"), { isLost: true });
    return live.catch((error: Error) => {
      this.#live.delete(sessionId);
      error.message = `the session could not be opened again: ${error.message}. If this is so each time, close it and create another one`;
      throw Object.assign(error, { isLost: true });
    });
  }

  async #restore(call: SessionCall, saved: SavedSession): Promise<LiveSession> {
    const live = this.#open(call);
    await live.session.restore(saved);
    return live;
  }

  #open({ sessionId, opening, user }: SessionCall): LiveSession {
    const { plugins, limits, pageTools, callHost } = this.#environment;
    const app = new RemoteApp(plugins, limits, (method, input) => callHost({ method, sessionId, opening, input }));
    const session = new AppSession(app, user);
    const save = () => app.save(session.pageId, session.save());
    return { session, calls: new PageCalls(new LowdefyDriver(session, save), () => pageTools) };
  }
}

/** Returns the parts of a call that page tools use. */
function contextOf({ via, maxResultBytes }: SessionCall, signal: AbortSignal): Parameters<PageCalls["state"]>[0] {
  const client = maxResultBytes === undefined ? undefined : { limits: { maxResultBytes } };
  return { signal, caller: { via, roles: [] }, client, progress() {}, handOver() {} } as unknown as Parameters<PageCalls["state"]>[0];
}

/** The sessions of one user: those that are in use are in memory, all of them are in the store. */

import { randomUUID } from "node:crypto";

import { PageCalls, type PageToolsOptions } from "mcp-web-sdk/page-driver";

import { LowdefyDriver } from "../driver/driver.ts";
import type { AppUser, LowdefyApp } from "../engine/app.ts";
import type { SavedSession } from "../engine/saved-session.ts";
import { AppSession } from "../engine/session.ts";
import { SessionConflict, type SessionStore, type SessionSummary, type StoredSession } from "../stores/index.ts";
import { isSessionId } from "../stores/index.ts";
import { callFailure, invalidArguments } from "./call-failure.ts";

/** Sessions that are kept in memory between calls, of one user: others are read from the store when they are used again. */
const MAX_LIVE_SESSIONS = 16;

/** A session in memory. */
export interface LiveSession {
  session: AppSession;
  calls: PageCalls;
}

interface Entry extends LiveSession {
  /** What the store has of it, without the state. */
  stored: SessionSummary;
}

/** The sessions of one user. */
export class Sessions {
  readonly #store: SessionStore;
  readonly #options: () => PageToolsOptions;
  #app: LowdefyApp;
  /** The one that was used last is the last. */
  readonly #live = new Map<string, Promise<Entry>>();

  constructor(store: SessionStore, app: LowdefyApp, options: () => PageToolsOptions) {
    this.#store = store;
    this.#app = app;
    this.#options = options;
  }

  /** Takes a newer build of the app: sessions go on with its pages. */
  async reload(app: LowdefyApp): Promise<void> {
    this.#app = app;
    this.#live.clear();
  }

  /** Opens a session: its first page, with what that does. */
  async create(name: string, description: string | undefined, user: AppUser): Promise<object> {
    const sessionId = randomUUID();
    const session = new AppSession(this.#app, user);
    await session.start();
    const stored = await this.#try(() =>
      this.#store.create({ sessionId, name, ...(description !== undefined && { description }), pageId: session.pageId, saved: session.save() }),
    );
    this.#keep(sessionId, Promise.resolve(this.#entry(session, stored)));
    const { messages, warnings } = session.activity.take();
    return { sessionId, name, ...(messages.length && { messages }), ...(warnings.length && { warnings }) };
  }

  async list(): Promise<SessionSummary[]> {
    return this.#try(() => this.#store.list());
  }

  async close(sessionId: unknown): Promise<void> {
    const id = checkId(sessionId);
    await this.#try(() => this.#store.close(id));
    this.#live.delete(id);
  }

  /** Returns a session for a call, as the store has it. */
  async use(sessionId: unknown, user: AppUser): Promise<LiveSession> {
    const id = checkId(sessionId);
    const stored = await this.#try(() => this.#store.get(id)).catch((error: unknown) => {
      this.#live.delete(id);
      throw error;
    });
    const known = this.#live.get(id);
    const entry = known && (await known.catch(() => undefined));
    // Another process may have gone on with it.
    const loading = entry && entry.stored.revision >= stored.revision ? Promise.resolve(entry) : this.#load(stored, user);
    this.#keep(id, loading);
    try {
      const loaded = await loading;
      await loaded.session.setUser(user);
      return loaded;
    } catch (error) {
      this.#live.delete(id);
      throw error;
    }
  }

  async sweep(): Promise<void> {
    await this.#store.sweep();
  }

  async dispose(): Promise<void> {
    this.#live.clear();
    await this.#store.dispose();
  }

  async #load(stored: StoredSession, user: AppUser): Promise<Entry> {
    const session = new AppSession(this.#app, user);
    await session.restore(stored.saved as SavedSession);
    return this.#entry(session, stored);
  }

  #entry(session: AppSession, stored: StoredSession): Entry {
    const driver = new LowdefyDriver(session, () => this.#save(entry));
    const entry: Entry = { session, stored: summaryOf(stored), calls: new PageCalls(driver, this.#options) };
    return entry;
  }

  async #save(entry: Entry): Promise<void> {
    const { session, stored } = entry;
    const { sessionId, name, description, revision, createdAt } = stored;
    try {
      const saved = session.save();
      const changed = await this.#store.save({ sessionId, name, ...(description !== undefined && { description }), revision, createdAt, pageId: session.pageId, saved });
      entry.stored = summaryOf(changed);
    } catch (error) {
      if (error instanceof SessionConflict) this.#live.delete(sessionId);
      const failure = callFailure(error) as Error;
      failure.message = `the actions were done, and the session could not be saved: ${failure.message}`;
      throw failure;
    }
  }

  #keep(sessionId: string, entry: Promise<Entry>): void {
    this.#live.delete(sessionId);
    this.#live.set(sessionId, entry);
    for (const oldest of this.#live.keys()) {
      if (this.#live.size <= MAX_LIVE_SESSIONS) break;
      this.#live.delete(oldest);
    }
  }

  async #try<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw callFailure(error);
    }
  }
}

const summaryOf = ({ saved: _, ...summary }: StoredSession): SessionSummary => summary;

/** @throws when it is no id of a session: it becomes a part of a path. */
function checkId(sessionId: unknown): string {
  if (typeof sessionId === "string" && isSessionId(sessionId)) return sessionId;
  throw invalidArguments("SessionUnknown", "sessionId must be the id of a session, from session_create or session_list");
}

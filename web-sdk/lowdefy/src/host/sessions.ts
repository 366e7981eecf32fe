/** The sessions of one user: those that are in use are in memory, all of them are in the store. */

import { randomUUID } from "node:crypto";

import { PageCalls, type PageToolsOptions } from "mcp-web-sdk/page-driver";

import { LowdefyDriver } from "../driver/driver.ts";
import type { AppUser, LowdefyApp } from "../engine/app.ts";
import type { SavedSession } from "../engine/saved-session.ts";
import { AppSession } from "../engine/session.ts";
import { SessionConflict, type SessionStore, type SessionSummary, type StoredSession, isSessionId, tooManySessions } from "../stores/index.ts";
import { callFailure, handlerFailed, invalidArguments } from "./call-failure.ts";

/** Sessions that are kept in memory between calls, of one user: others are read from the store when they are used again. */
const MAX_LIVE_SESSIONS = 16;

/** A session in memory. */
interface Entry {
  session: AppSession;
  calls: PageCalls;
  /** The calls that are under way: until they have ended, it is the only one of its id. */
  running: number;
  /** The app was built anew since it was opened. */
  isOutdated: boolean;
  /** What the store has of it, without the state. */
  stored: SessionSummary;
}

/** The sessions of one user. */
export class Sessions {
  readonly #store: SessionStore;
  readonly #options: () => PageToolsOptions;
  readonly #limits: () => { maxSessions: number };
  #app: LowdefyApp;
  /** The one that was used last is the last. */
  readonly #live = new Map<string, Promise<Entry>>();

  constructor(store: SessionStore, app: LowdefyApp, options: () => PageToolsOptions, limits: () => { maxSessions: number }) {
    this.#store = store;
    this.#limits = limits;
    this.#app = app;
    this.#options = options;
  }

  /** Takes a newer build of the app: sessions go on with its pages when the calls that are under way have ended. */
  async reload(app: LowdefyApp): Promise<void> {
    this.#app = app;
    for (const entry of this.#live.values()) entry.then((live) => (live.isOutdated = true)).catch(() => {});
  }

  /** Opens a session: its first page, with what that does. */
  async create(name: string, description: string | undefined, user: AppUser): Promise<object> {
    // Opening the app makes its requests.
    const active = (await this.list()).filter(({ status }) => status === "active");
    const { maxSessions } = this.#limits();
    if (active.length >= maxSessions) throw callFailure(tooManySessions(maxSessions));
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

  /** Does the work of a call in a session, as the store has it. */
  async run<Value>(sessionId: unknown, user: AppUser, work: (calls: PageCalls) => Value | Promise<Value>): Promise<Value> {
    const entry = await this.#use(checkId(sessionId), user);
    try {
      return await work(entry.calls);
    } finally {
      entry.running -= 1;
      this.#evict();
    }
  }

  async #use(id: string, user: AppUser): Promise<Entry> {
    const stored = await this.#try(() => this.#store.get(id)).catch((error: unknown) => {
      this.#live.delete(id);
      throw error;
    });
    const { loading } = await this.#current(stored, user);
    this.#keep(id, loading);
    const entry = await loading.catch((error: unknown) => {
      this.#live.delete(id);
      throw error;
    });
    await entry.session.setUser(user);
    entry.running += 1;
    return entry;
  }

  /** Returns what is in memory of a session if that is what the store has, and otherwise what is read from the store. */
  async #current(stored: StoredSession, user: AppUser): Promise<{ loading: Promise<Entry> }> {
    const { sessionId, revision } = stored;
    const known = this.#live.get(sessionId);
    const entry = await known?.catch(() => undefined);
    // Another call has read it meanwhile.
    const newer = this.#live.get(sessionId);
    if (newer && newer !== known) return { loading: newer };
    // Another process may have gone on with it.
    const isCurrent = entry && (entry.running > 0 || (entry.stored.revision >= revision && !entry.isOutdated));
    return { loading: isCurrent ? known! : this.#load(stored, user) };
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
    const entry: Entry = { session, running: 0, isOutdated: false, stored: summaryOf(stored), calls: new PageCalls(driver, this.#options) };
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
      const isChanged = error instanceof SessionConflict;
      if (isChanged) this.#live.delete(sessionId);
      const reason = isChanged ? "another host has gone on with it" : (error as Error).message;
      const message = `the actions were done, and the session could not be saved: ${reason}. Do not repeat them: look at the page first`;
      throw handlerFailed(isChanged ? "SessionConflict" : "StoreUnavailable", message);
    }
  }

  #keep(sessionId: string, entry: Promise<Entry>): void {
    this.#live.delete(sessionId);
    this.#live.set(sessionId, entry);
    this.#evict();
  }

  /** Leaves sessions to the store that no call uses, the one that was used first before the others. */
  #evict(): void {
    let surplus = this.#live.size - MAX_LIVE_SESSIONS;
    for (const [sessionId, loading] of this.#live) {
      if (surplus <= 0) return;
      surplus -= 1;
      loading.then(
        ({ running }) => running === 0 && this.#live.get(sessionId) === loading && this.#live.size > MAX_LIVE_SESSIONS && this.#live.delete(sessionId),
        () => this.#live.delete(sessionId),
      );
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

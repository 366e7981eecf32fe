/** The sessions of one user: active ones are in a process of this user, and all of them are in the store. */

import { randomUUID } from "node:crypto";

import type { AppUser, LowdefyApp, LowdefyRequest } from "../engine/app.ts";
import { handlerFailed, invalidArguments } from "../processes/call-failure.ts";
import { type HostCall, type Method, type SessionCall, textIn } from "../processes/messages.ts";
import type { ProcessHandle, ProcessOwner } from "../processes/process-handle.ts";
import type { ProcessPool } from "../processes/process-pool.ts";
import { SessionConflict, type SessionStore, SessionStoreError, type StoredSessionSummary, type StoredSession, isSessionId, tooManySessions } from "../stores/index.ts";
import { RequestBudget } from "./request-budget.ts";

/**
 * Maximum number of sessions of a user that are kept in memory between calls. Others are read from the store when they are
 * used again.
 */
const MAX_LIVE_SESSIONS = 16;
/** How long a user may not make requests after one whose pattern took too long, because the host waits for it. */
const REQUEST_PAUSE_MS = 60_000;
const MAX_ID_CHARS = 1000;

/** A session in memory. */
interface Entry {
  process: ProcessHandle;
  /** The number of the call that opened the session in the process. */
  opening: number;
  /** The user of the last call. */
  user: AppUser;
  /** The number of running calls. Until they have ended, this entry is the only one with its id. */
  running: number;
  /** The session in the store, without its state. Absent while it is being created. */
  stored?: StoredSessionSummary;
  /** The last save. Saves run one at a time, so that a process which sends many keeps the store only as busy as one. */
  saving?: Promise<void>;
}

/** A call of a page tool. */
export interface PageToolCall extends Pick<SessionCall, "args" | "via" | "maxResultBytes"> {
  method: Exclude<Method, "create">;
  signal: AbortSignal;
}

/** The parts of the host that sessions use. A newer build changes them. */
export interface SessionsHost {
  app: LowdefyApp;
  limits: { maxSessionsPerUser: number; maxStateBytes: number };
}

/** The sessions of one user. */
export class Sessions implements ProcessOwner {
  readonly #store: SessionStore;
  readonly #pool: ProcessPool;
  readonly #host: SessionsHost;
  /** In order of use, the most recently used last. */
  readonly #live = new Map<string, Entry>();
  readonly #requests = new RequestBudget();
  #noRequestsUntil = 0;
  #openings = 0;

  constructor(store: SessionStore, pool: ProcessPool, host: SessionsHost) {
    this.#store = store;
    this.#pool = pool;
    this.#host = host;
  }

  /** Opens a session: its first page, with the page's events. */
  async create(name: string, description: string | undefined, user: AppUser, signal: AbortSignal): Promise<object> {
    // Opening the app makes its requests.
    const active = (await this.list()).filter(({ status }) => status === "active");
    const { maxSessionsPerUser } = this.#host.limits;
    if (active.length >= maxSessionsPerUser) throw callFailure(tooManySessions(maxSessionsPerUser));
    const sessionId = randomUUID();
    return this.#pool.use(this, signal, async (process) => {
      const entry: Entry = { process, opening: ++this.#openings, user, running: 1 };
      const { opening } = entry;
      this.#keep(sessionId, entry);
      try {
        const created = await process.call({ method: "create", sessionId, opening, user, args: {}, via: "mcp" }, signal);
        const { pageId, saved, messages, warnings } = created as { pageId?: unknown; saved?: unknown; messages?: unknown; warnings?: unknown };
        this.#checkSize(saved);
        const given = { sessionId, name, ...(description !== undefined && { description }), pageId: checkPageId(pageId), saved };
        entry.stored = summaryOf(await this.#try(() => this.#store.create(given)));
        return { sessionId, name, ...listOf("messages", messages), ...listOf("warnings", warnings) };
      } catch (error) {
        this.#forget(sessionId, entry);
        throw error;
      } finally {
        entry.running -= 1;
        this.#evict();
      }
    });
  }

  async list(): Promise<StoredSessionSummary[]> {
    return this.#try(() => this.#store.list());
  }

  async close(sessionId: unknown): Promise<void> {
    const id = checkId(sessionId);
    await this.#try(() => this.#store.close(id));
    this.#forget(id);
  }

  /** Makes a call in a session in its stored state. */
  async run(sessionId: unknown, user: AppUser, { signal, ...call }: PageToolCall): Promise<object> {
    const id = checkId(sessionId);
    return this.#pool.use(this, signal, async (process) => {
      const stored = await this.#try(() => this.#store.get(id)).catch((error: unknown) => {
        // Another call may use the session, and reports its own outcome.
        if (this.#live.get(id)?.running === 0) this.#forget(id);
        throw error;
      });
      const known = this.#live.get(id);
      // Another host may have changed the session.
      const isCurrent = known?.process === process && (known.running > 0 || (known.stored?.revision ?? 0) >= stored.revision);
      const entry: Entry = isCurrent ? known : { process, opening: ++this.#openings, user, running: 0, stored: summaryOf(stored) };
      entry.user = user;
      entry.running += 1;
      this.#keep(id, entry);
      try {
        return await process.call({ ...call, sessionId: id, opening: entry.opening, user, ...(!isCurrent && { saved: stored.saved }) }, signal);
      } catch (error) {
        if ((error as { isLost?: boolean }).isLost || process.hasEnded) this.#forget(id, entry);
        throw error;
      } finally {
        entry.running -= 1;
        this.#evict();
      }
    });
  }

  /** Handles a call of the process about a session, for the user that the host knows. */
  async handle({ method, sessionId, opening, input }: HostCall): Promise<unknown> {
    const entry = this.#live.get(sessionId);
    if (!entry || entry.opening !== opening || entry.running === 0) throw method === "save" ? notSaved("SessionUnknown", "it was closed, or opened again") : new Error("no call is under way in the session");
    const { app } = this.#host;
    switch (method) {
      case "root":
        return app.rootConfig(entry.user);
      case "page":
        return (await app.page(textIn(input, "pageId", MAX_ID_CHARS), entry.user)) ?? null;
      case "pages":
        return app.pages(entry.user);
      case "request":
        return this.#request(entry, input);
      case "save":
        return (entry.saving = (entry.saving ?? Promise.resolve()).catch(() => {}).then(() => this.#save(sessionId, entry, input)));
    }
  }

  async sweep(): Promise<void> {
    await this.#store.sweep();
  }

  async dispose(): Promise<void> {
    this.#live.clear();
    await this.#store.dispose();
  }

  async #request({ process, user }: Entry, input: Record<string, unknown>): Promise<unknown> {
    const left = this.#noRequestsUntil - performance.now();
    if (left > 0) throw new Error(`requests of this user wait for ${Math.ceil(left / 1000)} s, because an operator of one took too long`);
    const [pageId, requestId, blockId] = ["pageId", "requestId", "blockId"].map((name) => textIn(input, name, MAX_ID_CHARS)) as [string, string, string];
    const request: LowdefyRequest = { pageId, requestId, blockId, payload: input.payload };
    const overran = () => (this.#noRequestsUntil = performance.now() + REQUEST_PAUSE_MS);
    const response = await this.#requests.spend(request.payload, async () => {
      // The process may have ended while the request waited.
      if (process.hasEnded) throw new Error("the process of the session has ended");
      return this.#host.app.request(user, request, overran);
    });
    this.#checkSize(response);
    return response;
  }

  async #save(sessionId: string, entry: Entry, input: Record<string, unknown>): Promise<void> {
    const { process, stored } = entry;
    if (!stored || entry.running === 0 || process.hasEnded) throw new Error("no call is under way in the session");
    const { name, description, revision, createdAt } = stored;
    const pageId = checkPageId(input.pageId);
    try {
      this.#checkSize(input.saved);
      const changed = await this.#store.save({ sessionId, name, ...(description !== undefined && { description }), revision, createdAt, pageId, saved: input.saved });
      entry.stored = summaryOf(changed);
    } catch (error) {
      if (error instanceof SessionConflict) {
        this.#forget(sessionId, entry);
        throw notSaved("SessionConflict", "another host has gone on with it");
      }
      const { message, data } = error as { message: string; data?: { reason: string } };
      throw notSaved(data?.reason ?? "StoreUnavailable", message);
    }
  }

  /** @throws an error with the reason `StateTooLarge` if a part of the state of a session is too large. */
  #checkSize(part: unknown): void {
    const { maxStateBytes } = this.#host.limits;
    if (Buffer.byteLength(JSON.stringify(part) ?? "") > maxStateBytes) throw handlerFailed("StateTooLarge", `there are more than ${maxStateBytes} bytes for the state of the session (maxStateBytes)`);
  }

  #keep(sessionId: string, entry: Entry): void {
    this.#live.delete(sessionId);
    this.#live.set(sessionId, entry);
    this.#evict();
  }

  #forget(sessionId: string, entry = this.#live.get(sessionId)): void {
    if (!entry || this.#live.get(sessionId) !== entry) return;
    this.#live.delete(sessionId);
    entry.process.forget(sessionId);
  }

  /** Moves sessions without a call to the store, the least recently used first. */
  #evict(): void {
    let surplus = this.#live.size - MAX_LIVE_SESSIONS;
    for (const [sessionId, entry] of [...this.#live]) {
      if (surplus <= 0) return;
      surplus -= 1;
      if (entry.running === 0) this.#forget(sessionId, entry);
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

const notSaved = (reason: string, why: string): Error => handlerFailed(reason, `the actions were done, and the session could not be saved: ${why}. Do not repeat them: look at the page first`);

const summaryOf = ({ saved: _, ...summary }: StoredSession): StoredSessionSummary => summary;

const listOf = (name: string, list: unknown): object => (Array.isArray(list) && list.length ? { [name]: list } : {});

/** @throws if it is not the id of a session, because it becomes part of a path. */
function checkId(sessionId: unknown): string {
  if (typeof sessionId === "string" && isSessionId(sessionId)) return sessionId;
  throw invalidArguments("SessionUnknown", "sessionId must be the id of a session, from session_create or session_list");
}

function checkPageId(pageId: unknown): string {
  if (typeof pageId === "string" && pageId.length <= MAX_ID_CHARS) return pageId;
  throw new Error("the process of the session has no page");
}

/** Converts the error of a store to that of a call. */
function callFailure(error: unknown): unknown {
  if (!(error instanceof SessionStoreError)) return error;
  const { code, message } = error;
  if (code === "SessionUnknown" || code === "SessionExpired" || code === "SessionLimit") return invalidArguments(code, message);
  return handlerFailed(code, message);
}

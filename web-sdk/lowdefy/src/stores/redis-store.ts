/** A session store in a Redis server. */

import { randomBytes } from "node:crypto";

import { isPrincipal } from "./principal.ts";
import { RedisConnection } from "./redis-connection.ts";
import { CLOSE, CREATE, SAVE, SWEEP } from "./redis-scripts.ts";
import { checkSessionId, isSessionId } from "./session-id.ts";
import { type ChangedSession, MAX_SESSION_BYTES, type NewSession, type SessionStore, type StoredSessionSummary, type StoredSession, phaseAt } from "./session-store.ts";
import { byAge, encodeJson, parseRecord, recordOf, type SessionRecord, sessionFrom, summaryFrom, unreadableSummary } from "./session-text.ts";
import { sessionChanged, sessionExists, sessionExpired, sessionTooLarge, sessionUnknown, sessionUnreadable, StoreUnavailable, tooManySessions } from "./store-errors.ts";
import { settingsFrom, type StoreOptions, type StoreSettings } from "./store-options.ts";

/** The options of a Redis store. */
export interface RedisStoreOptions extends StoreOptions {
  /** Prefix of all keys, `mcp-web-lowdefy:` by default. */
  prefix?: string | undefined;
}

/** The answers of the scripts. */
type Outcome = "done" | "exists" | "limit" | "unknown" | "unreadable" | "expired" | "conflict";

/** Replaces an id if a script needs only the form of the keys. */
const ANY_ID = "00000000-0000-4000-8000-000000000000";

/**
 * Opens the store of a principal in a Redis server (7 or newer), with the npm package `redis` 6.
 *
 * It connects at the first call, and again after each lost connection, so that a host can start before its server. The
 * server should have `maxmemory-policy noeviction`, because it could otherwise remove active sessions, and persistence if
 * the sessions must outlive it.
 * @param url `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS.
 * @param principal the result of `principalOfToken`.
 * @throws Error if the URL is invalid; the message does not repeat it.
 * @throws StoreUnavailable if the package `redis` is not installed.
 */
export async function openRedisStore(url: string, principal: string, options: RedisStoreOptions = {}): Promise<SessionStore> {
  if (!isPrincipal(principal)) throw new TypeError("the principal is not a name that principalOfToken returns");
  const settings = settingsFrom(options);
  // The braces put all keys of a principal into one slot of a cluster.
  return new RedisStore(await RedisConnection.open(url), `${options.prefix ?? "mcp-web-lowdefy:"}{${principal}}:`, settings);
}

class RedisStore implements SessionStore {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #settings: StoreSettings;
  readonly #warned = new Set<string>();
  /** By session: the id of a save that may have been stored although no answer arrived. */
  readonly #unanswered = new Map<string, string>();

  constructor(connection: RedisConnection, prefix: string, settings: StoreSettings) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#settings = settings;
  }

  async create(session: NewSession): Promise<StoredSession> {
    const now = this.#settings.now();
    const record = recordOf(session, 1, now, now);
    const { sessionId } = record;
    const { maxSessions } = this.#settings;
    const outcome = await this.#script(CREATE, sessionId, [String(maxSessions), newWriteId(), ...encodeRecord(record)]);
    if (outcome === "exists") throw sessionExists(sessionId);
    if (outcome === "limit") throw tooManySessions(maxSessions);
    return sessionFrom(record, "active");
  }

  async get(sessionId: string): Promise<StoredSession> {
    checkSessionId(sessionId);
    const record = await this.#read(sessionId, true);
    if (!record) throw sessionUnknown(sessionId);
    if ("unreadable" in record) {
      this.#unreadable(sessionId, record.unreadable);
      throw sessionUnreadable(sessionId);
    }
    const phase = this.#phase(record);
    if (phase === "gone") throw sessionUnknown(sessionId);
    if (phase === "expired") throw sessionExpired(sessionId);
    return sessionFrom(record, phase);
  }

  async save(session: ChangedSession): Promise<StoredSession> {
    const { sessionId, revision } = session;
    checkSessionId(sessionId);
    const record = recordOf(session, revision + 1, session.createdAt, this.#settings.now());
    const write = newWriteId();
    const encoded = encodeRecord(record);
    let outcome: Outcome;
    try {
      outcome = await this.#script(SAVE, sessionId, [String(revision), write, this.#unanswered.get(sessionId) ?? "", ...encoded]);
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#unanswered.set(sessionId, write);
      throw error;
    }
    this.#unanswered.delete(sessionId);
    if (outcome === "unknown") throw sessionUnknown(sessionId);
    if (outcome === "expired") throw sessionExpired(sessionId);
    if (outcome === "unreadable") throw sessionUnreadable(sessionId);
    if (outcome === "conflict") throw sessionChanged(sessionId);
    return sessionFrom(record, "active");
  }

  async list(): Promise<StoredSessionSummary[]> {
    const sessionIds = (await this.#connection.run((client) => client.sMembers(this.#idsKey))).filter(isSessionId);
    const records = await Promise.all(sessionIds.map(async (sessionId) => ({ sessionId, record: await this.#read(sessionId, false) })));
    const listed: StoredSessionSummary[] = [];
    for (const { sessionId, record } of records) {
      if (!record) continue;
      if ("unreadable" in record) {
        listed.push(this.#unreadable(sessionId, record.unreadable));
        continue;
      }
      const phase = this.#phase(record);
      if (phase !== "gone") listed.push(summaryFrom(record, phase));
    }
    return listed.sort(byAge);
  }

  async close(sessionId: string): Promise<void> {
    checkSessionId(sessionId);
    this.#unanswered.delete(sessionId);
    this.#warned.delete(sessionId);
    if ((await this.#script(CLOSE, sessionId, [])) === "unknown") throw sessionUnknown(sessionId);
  }

  async sweep(): Promise<void> {
    await this.#script(SWEEP, ANY_ID, []);
  }

  async dispose(): Promise<void> {
    this.#connection.dispose();
  }

  async #script(script: string, sessionId: string, args: string[]): Promise<Outcome> {
    const { now, expiryMs } = this.#settings;
    const call = { keys: [this.#key(sessionId), this.#idsKey], arguments: [String(now()), String(expiryMs), ...args] };
    return (await this.#connection.run((client) => client.eval(script, call))) as Outcome;
  }

  /** Returns a session, without its saved state unless that is requested, or why it is unreadable, or `undefined`. */
  async #read(sessionId: string, saved: boolean): Promise<SessionRecord | { unreadable: string } | undefined> {
    const fields = saved ? ["write", "summary", "saved"] : ["write", "summary"];
    const values = await this.#connection.run((client) => client.hmGet(this.#key(sessionId), fields).catch(undefinedIfNoHash));
    if (!values) return { unreadable: "its key is not a hash" };
    const [write, summary, state] = values;
    if (write === null && summary === null) return undefined;
    const record = parseRecord(summary ?? "", sessionId);
    if (!state || "unreadable" in record) return record;
    try {
      return { ...record, saved: JSON.parse(state) };
    } catch {
      return { unreadable: "its saved state is not JSON" };
    }
  }

  #phase(record: SessionRecord): "active" | "expired" | "gone" {
    return phaseAt(this.#settings.now(), record.updatedAt, this.#settings.expiryMs);
  }

  #unreadable(sessionId: string, reason: string): StoredSessionSummary {
    if (!this.#warned.has(sessionId)) {
      this.#warned.add(sessionId);
      this.#settings.warn(`session ${sessionId} is listed as expired, because its key in Redis cannot be used: ${reason}`);
    }
    return unreadableSummary(sessionId);
  }

  #key(sessionId: string): string {
    return `${this.#prefix}session:${sessionId}`;
  }

  get #idsKey(): string {
    return `${this.#prefix}sessions`;
  }
}

function undefinedIfNoHash(error: Error): undefined {
  if (!error.message.startsWith("WRONGTYPE")) throw error;
}

function newWriteId(): string {
  return randomBytes(12).toString("hex");
}

/** Returns the summary and the saved state as JSON; the latter is "" if there is none. */
function encodeRecord(record: SessionRecord): [string, string] {
  const { saved, ...summary } = record;
  const texts: [string, string] = [encodeJson(summary), saved === undefined ? "" : encodeJson(saved)];
  const bytes = Buffer.byteLength(texts[0]) + Buffer.byteLength(texts[1]);
  if (bytes > MAX_SESSION_BYTES) throw sessionTooLarge(record.sessionId, bytes, MAX_SESSION_BYTES);
  return texts;
}

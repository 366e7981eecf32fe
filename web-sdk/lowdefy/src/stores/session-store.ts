/** The interface of the stores that hold the sessions of one principal, beyond the life of the process. */

/** A session as the store returns it. */
export interface StoredSession {
  /** The version of this format. A store lists a session of a newer format as expired. */
  version: 1;
  /** A UUID, version 4, in lower case. */
  sessionId: string;
  /** Counts the saves, from 1 for a created session. `save` accepts only the stored revision. */
  revision: number;
  name: string;
  description?: string;
  /** Computed from `updatedAt` when the session is read, and not stored. */
  status: "active" | "expired";
  /** The current page of the session. */
  pageId: string;
  /** Milliseconds since 1970. 0 if the stored session is unreadable. */
  createdAt: number;
  /** The time of the last `create` or `save`, in milliseconds since 1970. 0 if the stored session is unreadable. */
  updatedAt: number;
  /** The state of the session's page, as plain JSON. It is stored in the format of `JSON.stringify`. */
  saved?: unknown;
}

/** A session without the state of its page. */
export type StoredSessionSummary = Omit<StoredSession, "saved">;

/** The input of `create`. The store adds the version, the revision, the status and the times. */
export type NewSession = Pick<StoredSession, "sessionId" | "name" | "description" | "pageId" | "saved">;

/**
 * The input of `save`: a session that `create`, `get` or `save` returned, with changes. Its status and `updatedAt` are
 * ignored.
 */
export type ChangedSession = NewSession & Pick<StoredSession, "revision" | "createdAt">;

/**
 * Stores the sessions of one principal. A host opens one store for each of its tokens.
 *
 * A session is active until `expiryMs` after its last save. Then it is expired: it stays listed, does not count against the
 * limit, and can only be closed. After another `expiryMs` it is gone, as if it had been closed. Both are checked on each
 * access, so that nothing depends on the time at which `sweep` runs.
 *
 * Any number of processes may use one store. A save that is based on an older revision fails with `SessionConflict`, so
 * that no process overwrites a save that it has not read.
 *
 * All failures are a `SessionStoreError`, except for invalid arguments of a program, which throw `TypeError`.
 */
export interface SessionStore {
  /**
   * Stores a new session.
   * @throws SessionLimit if the principal has `maxSessions` active sessions, or the session has more than `MAX_SESSION_BYTES`.
   * @throws SessionConflict if there is a session with this id, expired or not.
   * @throws StoreUnavailable
   * @throws TypeError if the id is not a UUID of version 4 in lower case, or the session is not JSON.
   */
  create(session: NewSession): Promise<StoredSession>;
  /** Returns an active session. @throws SessionUnknown @throws SessionExpired @throws StoreUnavailable */
  get(sessionId: string): Promise<StoredSession>;
  /**
   * Replaces an active session, and returns it with its new revision. If it fails, the former state stays readable. After
   * `StoreUnavailable`, the same store accepts the same revision again, even if the server stored it and the answer was
   * lost.
   * @throws SessionUnknown if the session is closed, or was never created.
   * @throws SessionExpired
   * @throws SessionConflict if the stored revision differs.
   * @throws SessionLimit if the session has more than `MAX_SESSION_BYTES`.
   * @throws StoreUnavailable
   * @throws TypeError if the session is not JSON.
   */
  save(session: ChangedSession): Promise<StoredSession>;
  /** Returns the active and the expired sessions, the oldest first. @throws StoreUnavailable */
  list(): Promise<StoredSessionSummary[]>;
  /** Removes a session, expired or not. @throws SessionUnknown @throws StoreUnavailable */
  close(sessionId: string): Promise<void>;
  /** Removes the sessions that expired more than `expiryMs` ago. The host calls it every `SWEEP_INTERVAL_MS`. @throws StoreUnavailable */
  sweep(): Promise<void>;
  /**
   * Releases connections and files. The sessions stay stored. All later calls except this one fail with `StoreUnavailable`.
   */
  dispose(): Promise<void>;
}

/** How often a host should call `sweep`, in milliseconds. */
export const SWEEP_INTERVAL_MS = 60_000;

/**
 * Maximum size of one session as JSON in UTF-8, in bytes: 16 MiB, which is more than any page needs that an AI can read.
 */
export const MAX_SESSION_BYTES = 16 * 1024 * 1024;

/** Returns whether a session is active, expired or gone, by the time since its last save. */
export function phaseAt(now: number, updatedAt: number, expiryMs: number): "active" | "expired" | "gone" {
  const age = now - updatedAt;
  if (age < expiryMs) return "active";
  return age < 2 * expiryMs ? "expired" : "gone";
}

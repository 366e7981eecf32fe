/** Session stores: the sessions of a principal outlive the process of the host. */

export { openStore } from "./open-store.ts";
export { openFileStore, type FileStoreOptions } from "./file-store.ts";
export { openRedisStore, type RedisStoreOptions } from "./redis-store.ts";
export { principalOfSubject, principalOfToken } from "./principal.ts";
export { isSessionId } from "./session-id.ts";
export { SWEEP_INTERVAL_MS, MAX_SESSION_BYTES } from "./session-store.ts";
export type { ChangedSession, NewSession, SessionStore, StoredSessionSummary, StoredSession } from "./session-store.ts";
export type { StoreOptions } from "./store-options.ts";
export { SessionConflict, SessionExpired, SessionLimit, SessionStoreError, SessionUnknown, StoreUnavailable, type SessionStoreErrorCode, tooManySessions } from "./store-errors.ts";

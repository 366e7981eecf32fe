/** The failures of a session store. Each message says what to do next, and may be shown to an AI. */

/** The codes of the failures. */
export type SessionStoreErrorCode = "SessionUnknown" | "SessionExpired" | "SessionLimit" | "SessionConflict" | "StoreUnavailable";

/** A failure of a session store. */
export abstract class SessionStoreError extends Error {
  abstract readonly code: SessionStoreErrorCode;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No session has this id: it was never created, was closed, or expired long ago. */
export class SessionUnknown extends SessionStoreError {
  readonly code = "SessionUnknown";
}

/** The session was not used for too long, or its stored data is unreadable. */
export class SessionExpired extends SessionStoreError {
  readonly code = "SessionExpired";
}

/** The principal has too many sessions, or the session is too large. */
export class SessionLimit extends SessionStoreError {
  readonly code = "SessionLimit";
}

/** Another writer saved the session first. */
export class SessionConflict extends SessionStoreError {
  readonly code = "SessionConflict";
}

/** The disk or the server of the store failed. */
export class StoreUnavailable extends SessionStoreError {
  readonly code = "StoreUnavailable";
}

export function sessionUnknown(sessionId: string): SessionUnknown {
  return new SessionUnknown(`there is no session ${sessionId}: list the sessions, or create a new one`);
}

export function sessionExpired(sessionId: string): SessionExpired {
  return new SessionExpired(`session ${sessionId} has expired, because it was not used for too long: create a new one`);
}

export function sessionUnreadable(sessionId: string): SessionExpired {
  return new SessionExpired(`session ${sessionId} has expired, because its stored state is unreadable: close it, and create a new one`);
}

export function tooManySessions(maxSessions: number): SessionLimit {
  return new SessionLimit(`${maxSessions} sessions are active, which is the limit of a user: close one, then retry`);
}

export function sessionTooLarge(sessionId: string, bytes: number, limit: number): SessionLimit {
  return new SessionLimit(`session ${sessionId} has ${bytes} bytes, more than the limit of ${limit}: the state before stays stored; remove data from its page, or create a new session`);
}

export function sessionChanged(sessionId: string): SessionConflict {
  return new SessionConflict(`another writer saved session ${sessionId} first: nothing was stored; get the session again, and repeat the call`);
}

export function sessionExists(sessionId: string): SessionConflict {
  return new SessionConflict(`there is a session ${sessionId} already: create the session with a new id`);
}

export function storeDisposed(): StoreUnavailable {
  return new StoreUnavailable("the session store is closed, because the host is ending: start the host again, then retry");
}

/** Sessions as JSON text. The text does not contain whether a session is expired, because that follows from `updatedAt`. */

import { isSessionId } from "./session-id.ts";
import type { NewSession, StoredSessionSummary, StoredSession } from "./session-store.ts";

/** The stored data of a session: everything except the status, which is computed when it is read. */
export type SessionRecord = Omit<StoredSession, "status">;

/** Returns the record of a session that is being created or saved. @throws TypeError if a field has the wrong type. */
export function recordOf(session: NewSession, revision: number, createdAt: number, updatedAt: number): SessionRecord {
  const { sessionId, name, description, pageId, saved } = session;
  const record: SessionRecord = { version: 1, sessionId, revision, name, pageId, createdAt, updatedAt };
  if (description !== undefined) record.description = description;
  if (saved !== undefined) record.saved = saved;
  const problem = problemOf(record);
  if (problem) throw new TypeError(`the session cannot be stored: ${problem}`);
  return record;
}

/** Returns the JSON of a value. @throws TypeError if it has none, because of a cycle or a `bigint`. */
export function encodeJson(value: unknown): string {
  return JSON.stringify(value);
}

/** Returns the record in a text, or why there is none for this id. The reason does not quote the text. */
export function parseRecord(text: string, sessionId: string): SessionRecord | { unreadable: string } {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text);
  } catch {
    return { unreadable: "it is not JSON" };
  }
  if (typeof value !== "object" || value === null) return { unreadable: "it is not a JSON object" };
  const { version } = value;
  if (typeof version === "number" && version > 1) return { unreadable: `its format has the version ${version}, which is newer than this program` };
  if (version !== 1) return { unreadable: "it has no version" };
  if (value["sessionId"] !== sessionId) return { unreadable: "it is of another session" };
  const problem = problemOf(value);
  return problem ? { unreadable: problem } : (value as unknown as SessionRecord);
}

/** Returns the session of a record, at this time. */
export function sessionFrom(record: SessionRecord, status: StoredSession["status"]): StoredSession {
  const { saved } = record;
  return saved === undefined ? summaryFrom(record, status) : { ...summaryFrom(record, status), saved };
}

/** Returns the summary of the session of a record. */
export function summaryFrom(record: SessionRecord, status: StoredSession["status"]): StoredSessionSummary {
  const { version, sessionId, revision, name, description, pageId, createdAt, updatedAt } = record;
  return { version, sessionId, revision, name, ...(description === undefined ? {} : { description }), status, pageId, createdAt, updatedAt };
}

/** Returns the summary of a session of which only the id is known. */
export function unreadableSummary(sessionId: string): StoredSessionSummary {
  return { version: 1, sessionId, revision: 0, name: "(unreadable)", status: "expired", pageId: "", createdAt: 0, updatedAt: 0 };
}

/** Orders the sessions of a list by age, the oldest first. */
export function byAge(a: StoredSessionSummary, b: StoredSessionSummary): number {
  return a.createdAt - b.createdAt || (a.sessionId < b.sessionId ? -1 : 1);
}

function problemOf(record: { [Field in keyof SessionRecord]?: unknown }): string | undefined {
  if (!isSessionId(record.sessionId)) return "sessionId is not a UUID (version 4) in lower case";
  for (const field of ["name", "pageId"] as const) if (typeof record[field] !== "string") return `${field} is not text`;
  if (record.description !== undefined && typeof record.description !== "string") return "description is not text";
  for (const field of ["name", "description", "pageId"] as const) if (/\p{Surrogate}/u.test(String(record[field]))) return `${field} has half of a surrogate pair`;
  for (const field of ["revision", "createdAt", "updatedAt"] as const) if (!Number.isSafeInteger(record[field])) return `${field} is not an integer`;
  return undefined;
}

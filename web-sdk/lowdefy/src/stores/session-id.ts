/** Checks session ids, which become names of files and keys. */

import { SessionUnknown } from "./store-errors.ts";

/** Only lower case, because on some file systems a name in upper case is the same file. */
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns whether the text is a UUID, version 4, in lower case. */
export function isSessionId(text: unknown): text is string {
  return typeof text === "string" && UUID_V4.test(text);
}

/** Checks an id before it is looked up. @throws SessionUnknown, whose message does not repeat the text. */
export function checkSessionId(text: unknown): void {
  if (!isSessionId(text)) throw new SessionUnknown("there is no such session: a session id is a UUID (version 4) in lower case; list the sessions, or create a new one");
}

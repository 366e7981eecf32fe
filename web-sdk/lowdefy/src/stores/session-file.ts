/** Reads the file of a session. */

import { constants } from "node:fs";

import { type FileFunctions, errorCode } from "./file-functions.ts";
import { MAX_SESSION_BYTES } from "./session-store.ts";
import { type SessionRecord, parseRecord } from "./session-text.ts";

/** The content of a file. */
export interface SessionFile {
  content: SessionRecord | { unreadable: string };
  /** When the file was written, in milliseconds since 1970: the only known time of an unreadable one. */
  writtenAt: number;
}

/** Errors of this file that a retry does not change. Any other, such as `EMFILE`, fails the call. */
const UNREADABLE_CODES = new Map([
  ["ELOOP", "it is a symbolic link"],
  ["EACCES", "it belongs to another user"],
  ["EPERM", "it belongs to another user"],
]);

/** Returns the content of the file, or `undefined` if there is no file. @throws Error of the system. */
export async function readSessionFile(files: FileFunctions, path: string, sessionId: string): Promise<SessionFile | undefined> {
  try {
    // Opening a named pipe would wait for its writer.
    const { mtimeMs, size } = await files.lstat(path);
    const file = await files.open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return unreadable("it is not a file", mtimeMs);
      if (Math.max(size, stat.size) > MAX_SESSION_BYTES) return unreadable(`it has ${stat.size} bytes, more than the limit of ${MAX_SESSION_BYTES}`, stat.mtimeMs);
      return { content: parseRecord(await file.readFile("utf8"), sessionId), writtenAt: stat.mtimeMs };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    const reason = UNREADABLE_CODES.get(errorCode(error));
    if (!reason) throw error;
    return unreadable(reason, (await files.lstat(path)).mtimeMs);
  }
}

function unreadable(reason: string, writtenAt: number): SessionFile {
  return { content: { unreadable: reason }, writtenAt };
}

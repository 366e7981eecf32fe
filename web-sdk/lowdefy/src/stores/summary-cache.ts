/** The summaries of session files that have not changed since they were read. */

import { type FileFunctions, errorCode } from "./file-functions.ts";
import { type SessionFile, readSessionFile } from "./session-file.ts";

/** Reads session files without their saved state, each one only once. */
export class SummaryCache {
  readonly #files: FileFunctions;
  readonly #entries = new Map<string, { stamp: string; file: SessionFile }>();

  constructor(files: FileFunctions) {
    this.#files = files;
  }

  /**
   * Returns the content of the file except its saved state, or `undefined` if there is no file.
   *
   * @throws Error of the system.
   */
  async read(path: string, sessionId: string): Promise<SessionFile | undefined> {
    const stamp = await this.#stamp(path);
    const known = this.#entries.get(sessionId);
    if (stamp !== undefined && known?.stamp === stamp) return known.file;
    this.#entries.delete(sessionId);
    const file = await readSessionFile(this.#files, path, sessionId);
    if (!file || stamp === undefined) return file;
    if ("version" in file.content) {
      const { saved: _, ...content } = file.content;
      file.content = content;
    }
    // With this order of reads, a file that was replaced in between has its new content under its old stamp, and is read
    // again.
    this.#entries.set(sessionId, { stamp, file });
    return file;
  }

  /** Removes the entries of all other sessions. */
  retain(sessionIds: string[]): void {
    const retained = new Set(sessionIds);
    for (const sessionId of this.#entries.keys()) if (!retained.has(sessionId)) this.#entries.delete(sessionId);
  }

  /** Each save creates a new file, whose number, time or size differs. */
  async #stamp(path: string): Promise<string | undefined> {
    try {
      const { ino, mtimeMs, ctimeMs, size } = await this.#files.lstat(path);
      return `${ino} ${mtimeMs} ${ctimeMs} ${size}`;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }
}

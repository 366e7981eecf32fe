/** Replaces a file with all of its new content or not at all. */

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { dirname, join } from "node:path";

import { type FileFunctions, errorCode, removeFile } from "./file-functions.ts";

/** Begins the names of files that are not finished. */
export const UNFINISHED_PREFIX = ".tmp.";

/** What a file system without the flush of folders answers, Windows' among them. */
const NO_FOLDER_FLUSH = new Set(["EINVAL", "EISDIR", "EPERM", "EACCES", "ENOTSUP"]);

/**
 * Writes a file (mode 0600) that a power cut leaves either as it was or as it becomes.
 * @throws Error of the system, such as `ENOSPC` or `EFBIG`. The file is as before, and nothing is left over.
 */
export async function replaceFile(files: FileFunctions, path: string, text: string): Promise<void> {
  const unfinished = join(dirname(path), `${UNFINISHED_PREFIX}${randomBytes(12).toString("hex")}`);
  try {
    const file = await files.open(unfinished, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0), 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await files.rename(unfinished, path);
  } catch (error) {
    // The first error is the one to report: a leftover is removed at the next start.
    await removeFile(files, unfinished).catch(() => {});
    throw error;
  }
}

/** Makes the names in a folder survive a power cut. @throws Error of the system: the change is made, but is not sure to survive. */
export async function flushFolder(files: FileFunctions, folder: string): Promise<void> {
  let handle;
  try {
    handle = await files.open(folder, constants.O_RDONLY);
    await handle.sync();
  } catch (error) {
    if (!NO_FOLDER_FLUSH.has(errorCode(error))) throw error;
  } finally {
    await handle?.close();
  }
}

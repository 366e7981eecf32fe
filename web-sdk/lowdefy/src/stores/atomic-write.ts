/** Replaces a file atomically with its new content. */

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { dirname, join } from "node:path";

import { type FileFunctions, errorCode, removeFile } from "./file-functions.ts";

/** Prefix of the names of unfinished files. */
export const UNFINISHED_PREFIX = ".tmp.";

/** The errors of file systems that cannot flush folders, such as those of Windows. */
const NO_FOLDER_FLUSH = new Set(["EINVAL", "EISDIR", "EPERM", "EACCES", "ENOTSUP"]);

/**
 * Writes a file (mode 0600) so that a power cut leaves either its former or its new content.
 * @throws Error of the system, such as `ENOSPC` or `EFBIG`. The file is unchanged, and nothing is left over.
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
    // The first error is the one to report; a leftover is removed at the next start.
    await removeFile(files, unfinished).catch(() => {});
    throw error;
  }
}

/**
 * Makes the names in a folder survive a power cut.
 *
 * @throws Error of the system: the change is made, but may not survive.
 */
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

/** The folder of a principal in a file store. */

import { join } from "node:path";

import { UNFINISHED_PREFIX } from "./atomic-write.ts";
import { type FileFunctions, removeFile } from "./file-functions.ts";
import { isPrincipal } from "./principal.ts";
import { isSessionId } from "./session-id.ts";
import { StoreUnavailable } from "./store-errors.ts";

/** When an unfinished file is a leftover of a crash, in milliseconds: no write takes that long. */
const LEFTOVER_MS = 60_000;

const EXTENSION = ".json";

/**
 * Creates the folder of a principal, with mode 0700, and returns its path.
 *
 * @throws StoreUnavailable, or Error of the system.
 */
export async function openFolder(files: FileFunctions, root: string, principal: string): Promise<string> {
  if (!isPrincipal(principal)) throw new TypeError("the principal is not a name that principalOfToken returns");
  const folder = join(root, principal);
  await files.mkdir(folder, { recursive: true, mode: 0o700 });
  const stat = await files.lstat(folder);
  if (!stat.isDirectory()) throw new StoreUnavailable("the folder of the session store is a symbolic link: replace it by a folder");
  if ((stat.mode & 0o777) !== 0o700) await files.chmod(folder, 0o700);
  return folder;
}

/** Removes the unfinished files of writes that a crash ended, and returns the other names in the folder. */
export async function removeUnfinished(files: FileFunctions, folder: string): Promise<string[]> {
  const names = await files.readdir(folder);
  for (const name of names) {
    if (!name.startsWith(UNFINISHED_PREFIX)) continue;
    const path = join(folder, name);
    // Another process may rename or remove it at this moment.
    const stat = await files.lstat(path).catch(() => undefined);
    if (stat && Date.now() - stat.mtimeMs > LEFTOVER_MS) await removeFile(files, path);
  }
  return names.filter((name) => !name.startsWith(UNFINISHED_PREFIX));
}

/** Returns the path of a session's file. The id was already checked. */
export function sessionPath(folder: string, sessionId: string): string {
  return join(folder, sessionId + EXTENSION);
}

/** Returns the ids of the sessions in the folder. */
export async function sessionIdsIn(files: FileFunctions, folder: string): Promise<string[]> {
  const names = await files.readdir(folder);
  return names.filter((name) => name.endsWith(EXTENSION)).map((name) => name.slice(0, -EXTENSION.length)).filter(isSessionId);
}

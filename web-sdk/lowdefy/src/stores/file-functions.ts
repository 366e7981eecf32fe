/** The functions of the file system that the file store uses, so that a test can stop a process between two of them. */

import * as promises from "node:fs/promises";

/** The functions of `node:fs/promises` in use. */
export type FileFunctions = Pick<typeof promises, "chmod" | "link" | "lstat" | "mkdir" | "open" | "readdir" | "rename" | "unlink">;

/** The functions of Node. */
export const NODE_FILES: FileFunctions = promises;

/** Returns the code of the system's error, such as `ENOSPC`. */
export function errorCode(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? "unknown error";
}

/** Removes a file if it exists. */
export async function removeFile(files: FileFunctions, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

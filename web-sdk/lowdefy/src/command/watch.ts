/** Watches the files of an app for changes. */

import { watch } from "node:fs";
import { relative, resolve, sep } from "node:path";

/** Editors write a file in several steps. */
const QUIET_MS = 150;

/**
 * Calls a function when files in a folder have changed, except those in ignored folders. Returns a function that stops it.
 */
export function watchFolder(folder: string, ignored: readonly string[], changed: () => void): () => void {
  const root = resolve(folder);
  const skipped = ["node_modules", ".git", ...ignored.map((path) => relative(root, resolve(path)))].filter(Boolean);
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(root, { recursive: true }, (_, name) => {
    const path = String(name ?? "");
    if (skipped.some((skip) => path === skip || path.startsWith(skip + sep))) return;
    clearTimeout(timer);
    timer = setTimeout(changed, QUIET_MS);
  });
  // The folder may have been removed. In that case there is nothing to watch.
  watcher.on("error", () => {});
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}

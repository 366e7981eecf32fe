/** Takes the lock of a session, prints a line, and waits to be killed. Arguments: folder of the principal, name of the lock. */

import process from "node:process";

import { NODE_FILES } from "../../../src/stores/file-functions.ts";
import { FolderLocks } from "../../../src/stores/folder-locks.ts";

const [folder = "", name = ""] = process.argv.slice(2);
await new FolderLocks(NODE_FILES, folder).withLock(name, async () => {
  console.log("locked");
  await new Promise((resolve) => process.stdin.once("end", resolve).resume());
});

/**
 * Saves a session, and is killed right before a call of the file system.
 * Arguments: folder, principal, session id, the name of the function, a pattern of its arguments.
 */

import process from "node:process";

import { type FileFunctions, NODE_FILES } from "../../../src/stores/file-functions.ts";
import { openFileStore } from "../../../src/stores/index.ts";

const [folder = "", principal = "", sessionId = "", name = "", pattern = ""] = process.argv.slice(2);

function dieBefore<Name extends keyof FileFunctions>(deadly: Name): FileFunctions {
  const call = (...args: unknown[]): unknown => {
    if (new RegExp(pattern).test(args.join(" "))) process.kill(process.pid, "SIGKILL");
    return (NODE_FILES[deadly] as (...all: unknown[]) => unknown)(...args);
  };
  return { ...NODE_FILES, [deadly]: call };
}

const store = await openFileStore(folder, principal, { files: dieBefore(name as keyof FileFunctions) });
await store.save({ ...(await store.get(sessionId)), saved: "of the killed process" });
console.log("the process was not killed");

/** Functions with effects outside of a process that Node's permission model does not block. */

import { syncBuiltinESMExports } from "node:module";
import net, { Server, Socket } from "node:net";
import os from "node:os";
import v8 from "node:v8";

const REMOVED: [object: object, names: string[]][] = [
  [
    process,
    ["kill", "_kill", "abort", "binding", "_linkedBinding", "dlopen", "_debugProcess", "_debugEnd", "report", "setuid", "seteuid", "setgid", "setegid", "setgroups", "initgroups"],
  ],
  // Its flags write files, and disable memory checks.
  [v8, ["setFlagsFromString", "setHeapSnapshotNearHeapLimit"]],
  // Affects any process of the same user.
  [os, ["setPriority"]],
  [net, ["createServer", "Server"]],
  [Server.prototype, ["listen"]],
];
/** Opens any file as a database. Missing in some versions of Node. */
const SQLITE = ["DatabaseSync", "backup"];

/** Removes functions that pages do not need. */
export function removeProcessApis(): void {
  for (const [object, names] of REMOVED) for (const name of names) remove(object, name);
  const sqlite = process.getBuiltinModule("node:sqlite");
  if (sqlite) for (const name of SQLITE) remove(sqlite, name);
  refusePaths();
  // Named imports of a module are separate bindings.
  syncBuiltinESMExports();
}

/** Blocks connections to sockets with a path, which are services of this computer. */
function refusePaths(): void {
  const { connect } = Socket.prototype;
  const connectToHost = function (this: Socket, ...args: unknown[]) {
    // `net.connect` passes its own arguments as a list.
    const given = Array.isArray(args[0]) ? args[0] : args;
    const [first, second, third] = given;
    // A copy, so that its value cannot change between two reads.
    const options: Record<string, unknown> = typeof first === "object" && first !== null ? { ...first } : { port: Number(first), ...(typeof second === "string" && { host: second }) };
    if (options.path !== undefined && options.path !== null) throw Object.assign(new Error("sockets with a path are not allowed here"), { code: "ERR_ACCESS_DENIED" });
    const callback = [second, third].find((value) => typeof value === "function");
    return Reflect.apply(connect, this, callback ? [options, callback] : [options]);
  };
  Object.defineProperty(Socket.prototype, "connect", { value: connectToHost, writable: false, configurable: false });
}

function remove(object: object, name: string): void {
  if (name in object) Object.defineProperty(object, name, { value: undefined, writable: false, configurable: false });
}

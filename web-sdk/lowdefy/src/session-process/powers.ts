/** Functions with effects outside of a process, which Node's permission model does not refuse. */

import v8 from "node:v8";

const OF_PROCESS = ["kill", "_kill", "abort", "binding", "_linkedBinding", "dlopen", "_debugProcess", "_debugEnd", "setuid", "seteuid", "setgid", "setegid", "setgroups", "initgroups"];

/** Removes functions that no page needs. */
export function removePowers(): void {
  for (const name of OF_PROCESS) remove(process, name);
  for (const name of ["setFlagsFromString", "setHeapSnapshotNearHeapLimit"]) remove(v8, name);
}

function remove(object: object, name: string): void {
  if (name in object) Object.defineProperty(object, name, { value: undefined, writable: false, configurable: false });
}

/** Identifies the process that owns a lock, and whether it still runs. */

import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

/** One owner of locks: a store in a process. */
export interface LockOwner {
  /** Unique among all owners. */
  id: string;
  /** The machine since its start, and the namespace of its process ids. */
  machine: string;
  pid: number;
  /**
   * When the process started, in the kernel's clock ticks, or "" if that is unknown. It distinguishes two processes with
   * one id.
   */
  startedAt: string;
}

/** Returns a new owner in this process. */
export function newLockOwner(): LockOwner {
  return { id: randomBytes(8).toString("hex"), machine: thisMachine(), pid: process.pid, startedAt: statOf(process.pid)?.startedAt ?? "" };
}

/** Returns whether the owner's process runs, or "unknown" if it is on another machine. */
export function processState(owner: LockOwner): "running" | "ended" | "unknown" {
  if (owner.machine !== thisMachine()) return "unknown";
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // The other possibility is EPERM: the process belongs to another user.
    if ((error as { code?: string }).code === "ESRCH") return "ended";
  }
  const stat = statOf(owner.pid);
  if (!stat || !owner.startedAt) return "running";
  // A process that has ended keeps its id until its parent reads the exit code.
  return stat.startedAt === owner.startedAt && !"ZX".includes(stat.state) ? "running" : "ended";
}

/** Returns the owner in a text, or `undefined` if there is none. */
export function parseLockOwner(text: string): LockOwner | undefined {
  try {
    const owner: Partial<LockOwner> = JSON.parse(text);
    const { id, machine, pid, startedAt } = owner;
    if (/^[0-9a-f]{16}$/.test(id ?? "") && typeof machine === "string" && Number.isSafeInteger(pid) && (pid ?? 0) > 0 && typeof startedAt === "string") return owner as LockOwner;
  } catch {
    // A power cut can leave a file without its content.
  }
  return undefined;
}

let machine: string | undefined;

function thisMachine(): string {
  return (machine ??= process.platform === "linux" ? `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}` : hostname());
}

function statOf(pid: number): { state: string; startedAt: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses, and may itself contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startedAt: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

/** The processor time and memory of a process. They are unknown on systems without `/proc`. */

import { readFileSync } from "node:fs";

/** The unit of times in `/proc`: every Linux that Node runs on has 100 of them in a second. */
const TICK_MS = 10;

/** The processor time of a process so far, and its memory. */
export interface ProcessUsage {
  cpuMs: number;
  bytes: number;
}

/** Returns the usage of a process, if it is known. */
export function readUsage(pid: number): ProcessUsage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program, in parentheses, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, bytes: Number(kilobytes ?? 0) * 1024 };
  } catch {
    return undefined;
  }
}

/** Starts a session process: without an environment, with limits, and with read access only to the app's packages. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { fileURLToPath } from "node:url";

/** Maximum processor time of a process in its lifetime. It ends a process that outlives its host in an endless loop. */
export const MAX_LIFE_CPU_SECONDS = 600;
/** The memory of a process besides its JavaScript heap: the program, its stack, buffers. */
const MEMORY_BESIDES_HEAP_MB = 64;
const MIN_HEAP_MB = 48;
/** The difference in priority between a process and the host, which answers all users. */
const BELOW_HOST = 5;
/** The lowest priority. */
const LOWEST_PRIORITY = 19;

/** The variables that determine the format of dates and numbers. */
const PASSED_VARIABLES = ["TZ", "LANG", "LC_ALL"];

/** Starts a session process. `readable` are the folders and files that it may read. */
export function startProgram(readable: readonly string[], memoryMb: number): ChildProcess {
  const program = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../session-process.ts" : "./session-process.js", import.meta.url));
  const options = [
    "--permission",
    ...[...readable, program].map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${Math.max(MIN_HEAP_MB, memoryMb - MEMORY_BESIDES_HEAP_MB)}`,
    "--max-semi-space-size=2",
    "--disable-warning=SecurityWarning",
    "--disable-warning=ExperimentalWarning",
  ];
  const env = Object.fromEntries(PASSED_VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
  // Detached, it receives no signals of a terminal. It ends when its channel closes.
  const child = spawn(...withLimits([process.execPath, ...options, program]), { env, stdio: ["ignore", "ignore", "pipe", "pipe"], detached: true, cwd: "/" });
  if (child.pid !== undefined) giveWayToHost(child.pid);
  return child;
}

const SHELL = "/bin/sh";

/**
 * Returns a command that starts the given one with limits. Node has no function for the limits of a process, but every
 * shell has `ulimit`. On Linux with `setpriv`, the process also ends with its host.
 */
function withLimits(command: readonly string[]): [string, string[]] {
  if (!existsSync(SHELL)) return [command[0]!, command.slice(1)];
  return [SHELL, ["-c", `ulimit -c 0; ulimit -t ${MAX_LIFE_CPU_SECONDS}; command -v setpriv >/dev/null && exec setpriv --pdeathsig KILL "$0" "$@"; exec "$0" "$@"`, ...command]];
}

/** Gives a process the lowest priority. Only the operator of the computer can undo this. */
export const giveWayToAll = (pid: number): void => setNiceness(pid, LOWEST_PRIORITY);

/** Gives a process a lower priority than its host, for the processor and when memory runs out. */
function giveWayToHost(pid: number): void {
  setNiceness(pid, Math.min(getPriority() + BELOW_HOST, LOWEST_PRIORITY));
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, "1000"));
}

/**
 * Sets the priority of all threads of a process, and that of its group: if Linux groups processes automatically, only the
 * latter applies between groups.
 */
function setNiceness(pid: number, niceness: number): void {
  attempt(() => setPriority(pid, niceness));
  attempt(() => {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  });
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(niceness)));
}

/** Runs an operation that not every system supports. The process may also have ended. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The process continues unchanged.
  }
}

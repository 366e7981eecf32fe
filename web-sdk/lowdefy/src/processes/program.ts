/** How a session process is started: without an environment, with limits, and with nothing to read but the app's packages. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { fileURLToPath } from "node:url";

/** The processor time of a process in its life: one that outlives its host and loops ends by itself. */
export const MAX_LIFE_CPU_SECONDS = 600;
/** The memory of a process besides its heap of JavaScript: the program, its stack, buffers. */
const MEMORY_BESIDES_HEAP_MB = 64;
const MIN_HEAP_MB = 48;
/** How much less a process has than the host, which answers all users. */
const BELOW_HOST = 5;
/** The least that there is. */
const LOWEST_PRIORITY = 19;

/** The variables that decide how dates and numbers are written. */
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
  // No signal of a terminal reaches it: it ends with its channel.
  const child = spawn(...withLimits([process.execPath, ...options, program]), { env, stdio: ["ignore", "ignore", "pipe", "pipe"], detached: true, cwd: "/" });
  if (child.pid !== undefined) giveWayToHost(child.pid);
  return child;
}

const SHELL = "/bin/sh";

/** Node has no function for the limits of a process; each shell has. Where Linux has `setpriv`, the process also ends with its host. */
function withLimits(command: readonly string[]): [string, string[]] {
  if (!existsSync(SHELL)) return [command[0]!, command.slice(1)];
  return [SHELL, ["-c", `ulimit -c 0; ulimit -t ${MAX_LIFE_CPU_SECONDS}; command -v setpriv >/dev/null && exec setpriv --pdeathsig KILL "$0" "$@"; exec "$0" "$@"`, ...command]];
}

/** Makes a process give way to all others. Only the operator of the computer can undo that. */
export const giveWayToAll = (pid: number): void => setNiceness(pid, LOWEST_PRIORITY);

/** Makes a process give way to its host, for the processor and when the memory of the computer is used up. */
function giveWayToHost(pid: number): void {
  setNiceness(pid, Math.min(getPriority() + BELOW_HOST, LOWEST_PRIORITY));
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, "1000"));
}

/** Sets the priority of all threads of a process, and that of its group: where Linux groups processes by themselves, only this one counts between them. */
function setNiceness(pid: number, niceness: number): void {
  attempt(() => setPriority(pid, niceness));
  attempt(() => {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  });
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(niceness)));
}

/** Does what not each system can do. The process may also have ended. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The process goes on as it is.
  }
}

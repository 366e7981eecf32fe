/** A bridge that belongs to this process, for AI clients that start their servers themselves. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { AppError } from "../engine/app-error.ts";

/** Maximum time until the bridge listens. */
const MAX_START_MS = 10_000;
/** Maximum time for a process to end before it is killed. */
const MAX_END_MS = 3_000;

/** A child process of this one. */
export class ChildProgram {
  readonly process: ChildProcess;

  constructor(process: ChildProcess) {
    this.process = process;
  }

  /** Ends the process, and waits until it has ended. */
  async stop(): Promise<void> {
    const { process } = this;
    if (process.exitCode !== null || process.signalCode !== null) return;
    const ended = once(process, "exit");
    process.kill("SIGTERM");
    const timer = setTimeout(() => process.kill("SIGKILL"), MAX_END_MS);
    await ended;
    clearTimeout(timer);
  }
}

/**
 * Copies the output of a process to the log of this one. The process does not inherit the standard error: that would make
 * it blocking for both, and this process would wait for its reader.
 */
function forwardLog({ stderr }: ChildProcess, say: (line: string) => void): void {
  if (stderr) createInterface({ input: stderr }).on("line", say);
}

/** Starts a bridge on a free port of this computer, for one token. Returns the bridge and its address. */
export async function startBridge(program: string, token: string, say: (line: string) => void): Promise<{ bridge: ChildProgram; url: string }> {
  const child = spawn(program, ["bridge", "--bind", "127.0.0.1:0", "--until-stdin-ends"], {
    env: { ...process.env, MCP_WEB_TOKENS: token },
    // Its input ends with this process, however this process ends.
    stdio: ["pipe", "pipe", "pipe"],
  });
  forwardLog(child, say);
  const bridge = new ChildProgram(child);
  const failed = new Promise<never>((_, reject) => {
    child.once("error", () => reject(new AppError(`${program} cannot be started: give its path with --program or MCP_WEB_PROGRAM`)));
    child.once("close", (code) => reject(new AppError(`${program} has ended with exit code ${code}: its reason is above`)));
    setTimeout(() => reject(new AppError(`${program} does not listen after ${MAX_START_MS / 1000} s`)), MAX_START_MS).unref();
  });
  failed.catch(() => {});
  const listening = (async () => {
    for await (const line of createInterface({ input: child.stdout! })) {
      const url = /listening on (http:\/\/\S+)/.exec(line)?.[1];
      if (url) return url;
    }
    return failed;
  })();
  try {
    const url = await Promise.race([listening, failed]);
    // Later output is not needed.
    child.stdout?.resume();
    return { bridge, url };
  } catch (error) {
    await bridge.stop();
    throw error;
  }
}

/** Starts the stdio client, which uses this process's standard input and output. */
export function startStdioClient(program: string, bridgeUrl: string, token: string, say: (line: string) => void): ChildProgram {
  const environment = { ...process.env, MCP_SERVER_URL: `${bridgeUrl}/mcp`, AUTH_TOKEN: token };
  const child = spawn(program, ["stdio", "--start-bridge", "never"], { env: environment, stdio: ["inherit", "inherit", "pipe"] });
  forwardLog(child, say);
  return new ChildProgram(child);
}

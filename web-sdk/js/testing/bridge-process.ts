/** The program `mcp-web bridge`, as a child process of the test. */

/** The bridge while it runs. */
export interface BridgeProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Maximum time for the start of the program. */
const START_TIMEOUT_MS = 10_000;

/** Maximum time for the program to end before it is killed. */
const STOP_TIMEOUT_MS = 5_000;

/** Starts the program on a free port. */
export async function startProcess(command: string, args: readonly string[]): Promise<BridgeProcess> {
  // Bundlers must not resolve this module.
  const module = "node:child_process";
  const { spawn } = await import(/* @vite-ignore */ module);
  const child = spawn(command, ["bridge", "--bind", "127.0.0.1:0", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  // A missing program does not emit `exit`.
  const ended = new Promise<void>((resolve) => child.once("exit", resolve).once("error", resolve));
  // A test that has failed or was aborted may not close its bridge.
  const kill = () => child.kill("SIGKILL");
  const { process } = globalThis as any;
  process.once("exit", kill);
  const stop = async () => {
    process.removeListener("exit", kill);
    child.kill();
    const timer = setTimeout(kill, STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    return { url: await readUrl(child, command), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits for the address that the program prints. */
function readUrl(child: any, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    let log = "";
    const fail = (reason: string) => reject(new Error(`${command} ${reason}`));
    const timer = setTimeout(() => fail(`does not start within ${START_TIMEOUT_MS} ms: ${log}`), START_TIMEOUT_MS);
    child.once("error", (error: { code?: string; message: string }) => {
      clearTimeout(timer);
      const remedy = "is not on the PATH: install it, or pass startBridge({ command })";
      fail(error.code === "ENOENT" ? remedy : `does not start: ${error.message}`);
    });
    child.once("close", (code: number) => {
      clearTimeout(timer);
      fail(`has ended with ${code}: ${log}`);
    });
    // An unread pipe would block the program.
    child.stderr.on("data", (text: unknown) => (log = `${log}${text}`.slice(-4096)));
    child.stdout.on("data", (text: unknown) => {
      output = `${output}${text}`.slice(-4096);
      const [url] = /https?:\/\/\S+(?=\s)/.exec(output) ?? [];
      if (!url) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}

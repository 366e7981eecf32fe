/** A real Redis server in a temporary folder, on a free port. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Another process can take the port between the check and the server's start. */
const PORT_ATTEMPTS = 5;

/** A started server, which can be stopped and started again with the same data. */
export class RedisServer {
  readonly #folder: string;
  readonly port: number;
  readonly #password: string;
  readonly #tls: string[];
  #child: ChildProcess;

  private constructor(folder: string, port: number, password: string, tls: string[], child: ChildProcess) {
    this.#folder = folder;
    this.port = port;
    this.#password = password;
    this.#tls = tls;
    this.#child = child;
  }

  /**
   * Starts a server.
   *
   * @throws Error if `redis-server` is not installed, so that no test is skipped.
   * @param tls the options of TLS, or none for TCP.
   */
  static async start(password: string, tls: string[] = []): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), "mcp-web-redis-"));
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      try {
        return new RedisServer(folder, port, password, tls, await spawnServer(folder, port, password, tls));
      } catch (error) {
        if ((error as { code?: string }).code === "EADDRINUSE" && attempt < PORT_ATTEMPTS) continue;
        await rm(folder, { recursive: true });
        throw error;
      }
    }
  }

  get url(): string {
    return `${this.#tls.length ? "rediss" : "redis"}://:${encodeURIComponent(this.#password)}@127.0.0.1:${this.port}`;
  }

  async startAgain(): Promise<void> {
    this.#child = await spawnServer(this.#folder, this.port, this.#password, this.#tls);
  }

  /** Ends the server's process, without its cleanup. */
  async kill(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** The system still accepts connections for a stopped process, which does not answer. */
  stop(): void {
    this.#child.kill("SIGSTOP");
  }

  continue(): void {
    this.#child.kill("SIGCONT");
  }

  async dispose(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
    await rm(this.#folder, { recursive: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function spawnServer(folder: string, port: number, password: string, tls: string[]): Promise<ChildProcess> {
  const ports = tls.length ? ["--port", "0", "--tls-port", String(port), ...tls] : ["--port", String(port)];
  const options = [...ports, "--bind", "127.0.0.1", "--dir", folder, "--requirepass", password, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const child = spawn("redis-server", options, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    let output = "";
    child.once("error", (error) => {
      const missing = (error as { code?: string }).code === "ENOENT";
      reject(missing ? new Error("redis-server is missing: install Debian's package (apt-get install redis-server); the Redis tests fail without it") : error);
    });
    child.once("exit", () => reject(Object.assign(new Error(`redis-server ended:\n${output}`), output.includes("in use") ? { code: "EADDRINUSE" } : {})));
    createInterface(child.stdout).on("line", (line) => {
      output += `${line}\n`;
      if (line.includes("Ready to accept connections")) resolve();
    });
  });
  return child;
}

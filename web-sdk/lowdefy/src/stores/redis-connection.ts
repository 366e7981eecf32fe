/** One connection to a Redis server, which is made when it is needed, and made again after it was lost. */

import { setTimeout as delay } from "node:timers/promises";

import type * as Redis from "redis";

import { addressOf, checkRedisUrl } from "./redis-url.ts";
import { storeDisposed, StoreUnavailable } from "./store-errors.ts";

type Client = ReturnType<typeof Redis.createClient>;

/** How long a command may take with all its attempts, in milliseconds. A caller hears within five seconds that the server is away. */
const COMMAND_TIMEOUT_MS = 4_000;

/** Pause before the next attempt, in milliseconds: short, because a server that was started again answers soon. */
const RETRY_DELAY_MS = 100;

/** What a server answers while it is starting, or is no primary at the moment. The same command works a little later. */
const PASSING_ERRORS = /^(LOADING|BUSY|READONLY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN)\b/;

/** Runs commands on a server. */
export class RedisConnection {
  readonly #redis: typeof Redis;
  readonly #url: string;
  #client: Promise<Client> | undefined;
  #disposed = false;

  private constructor(redis: typeof Redis, url: string) {
    this.#redis = redis;
    this.#url = url;
  }

  /** Loads the package `redis`, and does not connect yet. @throws Error if the URL is invalid. @throws StoreUnavailable if the package is missing. */
  static async open(url: string): Promise<RedisConnection> {
    checkRedisUrl(url);
    try {
      return new RedisConnection(await import("redis"), url);
    } catch (cause) {
      throw new StoreUnavailable("sessions in Redis need the npm package redis: run `npm install redis@6`, then start the host again", { cause });
    }
  }

  /**
   * Runs a command, and again after a lost connection: so it must be one that may run twice.
   * @throws StoreUnavailable after 4 seconds. Then it is not known whether the command ran.
   * @throws Error of the server, such as `WRONGTYPE`.
   */
  async run<Reply>(command: (client: Client) => Promise<Reply>): Promise<Reply> {
    const deadline = performance.now() + COMMAND_TIMEOUT_MS;
    for (;;) {
      if (this.#disposed) throw storeDisposed();
      let error: unknown;
      try {
        return await this.#attempt(command, deadline);
      } catch (reason) {
        error = reason;
      }
      if (this.#disposed) throw storeDisposed();
      if (error instanceof this.#redis.ErrorReply && !PASSING_ERRORS.test(error.message)) throw this.#serverError(error);
      if (performance.now() + RETRY_DELAY_MS >= deadline) throw this.#unavailable(error);
      await delay(RETRY_DELAY_MS);
    }
  }

  dispose(): void {
    this.#disposed = true;
    if (this.#client) this.#drop(this.#client);
  }

  async #attempt<Reply>(command: (client: Client) => Promise<Reply>, deadline: number): Promise<Reply> {
    const client = (this.#client ??= this.#newClient());
    const timeout = new AbortController();
    try {
      return await Promise.race([client.then(command), rejectAt(deadline, timeout.signal)]);
    } catch (error) {
      // A connection without an answer is not used again: it may be cut without a sign.
      if (!(error instanceof this.#redis.ErrorReply) || !(await isConnected(client))) this.#drop(client);
      throw error;
    } finally {
      timeout.abort();
    }
  }

  async #newClient(): Promise<Client> {
    const client = this.#redis.createClient({ url: this.#url, disableOfflineQueue: true, maintNotifications: "disabled", socket: { connectTimeout: COMMAND_TIMEOUT_MS, reconnectStrategy: false } }) as Client;
    // Each command fails with the same error; without a listener the process would end.
    client.on("error", () => {});
    try {
      await client.connect();
    } catch (error) {
      destroy(client);
      throw error;
    }
    return client;
  }

  #drop(client: Promise<Client>): void {
    if (this.#client === client) this.#client = undefined;
    client.then(destroy, () => {});
  }

  #serverError(error: Error): Error {
    if (/^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH)\b/.test(error.message)) return this.#failure("refused the user, the password or the command", "correct the URL of the store and the rights of its user, then start the host again");
    if (/^(OOM|MISCONF|NOREPLICAS)\b/.test(error.message)) return this.#failure("takes no writes now, and the sessions are as before", "free memory or disk of the server, then retry");
    return error;
  }

  #unavailable(error: unknown): StoreUnavailable {
    const code = (error as { code?: unknown } | undefined)?.code;
    return this.#failure(typeof code === "string" ? `does not answer (${code})` : "does not answer", "check that it runs, then retry");
  }

  /** No cause, and nothing of the server's message: neither is known to be without the password. */
  #failure(what: string, advice: string): StoreUnavailable {
    return new StoreUnavailable(`the Redis server of the session store (${addressOf(this.#url)}) ${what}: ${advice}`);
  }
}

function destroy(client: Client): void {
  // A client that never connected, or has lost its connection, throws.
  if (client.isOpen) client.destroy();
}

async function isConnected(client: Promise<Client>): Promise<boolean> {
  return await client.then(({ isReady }) => isReady, () => false);
}

async function rejectAt(deadline: number, signal: AbortSignal): Promise<never> {
  await delay(deadline - performance.now(), undefined, { signal });
  throw new Error("no answer in time");
}

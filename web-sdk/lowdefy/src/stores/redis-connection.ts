/** One connection to a Redis server, which is opened when it is needed, and reopened after it was lost. */

import { setTimeout as delay } from "node:timers/promises";

import type * as Redis from "redis";

import { addressOf, checkRedisUrl } from "./redis-url.ts";
import { storeDisposed, StoreUnavailable } from "./store-errors.ts";

type Client = ReturnType<typeof Redis.createClient>;

/** A client, and a promise that is fulfilled when it can be used. */
interface Connection {
  client: Client;
  connected: Promise<unknown>;
}

/**
 * Maximum duration of a command including its retries, in milliseconds. A caller learns within five seconds that the server
 * is unavailable.
 */
const COMMAND_TIMEOUT_MS = 4_000;

/** Pause before the next attempt, in milliseconds: short, because a restarted server answers soon. */
const RETRY_DELAY_MS = 100;

/** Errors of a server that is starting, or is temporarily not the primary. The same command succeeds a little later. */
const PASSING_ERRORS = /^(LOADING|BUSY|READONLY|MASTERDOWN|TRYAGAIN|CLUSTERDOWN)\b/;

/** Codes such as `DEPTH_ZERO_SELF_SIGNED_CERT` and `ERR_TLS_CERT_ALTNAME_INVALID`. */
const CERTIFICATE_CODES = /CERT|SIGNATURE/;

/** Runs commands on a server. */
export class RedisConnection {
  readonly #redis: typeof Redis;
  readonly #url: string;
  #current: Connection | undefined;
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
   * Runs a command, and repeats it after a lost connection, so the command must be idempotent.
   * @throws StoreUnavailable if the server answers with an error, or does not answer for 4 seconds. It is then unknown
   * whether the command ran.
   */
  async run<Reply>(command: (client: Client) => Promise<Reply>): Promise<Reply> {
    const deadline = performance.now() + COMMAND_TIMEOUT_MS;
    let code: string | undefined;
    for (let attempt = 1; ; attempt++) {
      if (this.#disposed) throw storeDisposed();
      let error: unknown;
      try {
        return await this.#attempt(command, deadline);
      } catch (reason) {
        error = reason;
        // The deadline ends the last attempt without a code, so the previous one is more informative.
        code = codeOf(reason) ?? code;
      }
      if (this.#disposed) throw storeDisposed();
      if (error instanceof this.#redis.ErrorReply && !PASSING_ERRORS.test(error.message)) throw this.#serverError(error);
      if (code && CERTIFICATE_CODES.test(code)) throw this.#failure(`has a certificate that is not accepted (${code})`, "name a file with its authority in NODE_EXTRA_CA_CERTS, or correct the host in the URL, then start the host again");
      if (performance.now() + RETRY_DELAY_MS >= deadline) throw this.#failure(code ? `does not answer (${code})` : "does not answer", "check that it runs, then retry");
      // The first attempt often finds a connection that was cut while it was idle.
      if (attempt > 1) await delay(RETRY_DELAY_MS);
    }
  }

  dispose(): void {
    this.#disposed = true;
    if (this.#current) this.#drop(this.#current);
  }

  async #attempt<Reply>(command: (client: Client) => Promise<Reply>, deadline: number): Promise<Reply> {
    const connection = (this.#current ??= this.#connect());
    const timeout = new AbortController();
    try {
      const answered = connection.connected.then(() => command(connection.client));
      return await Promise.race([answered, rejectAt(deadline, timeout.signal)]);
    } catch (error) {
      // A connection without an answer is not reused, because it may be cut without a sign.
      if (!(error instanceof this.#redis.ErrorReply) || !connection.client.isReady) this.#drop(connection);
      throw error;
    } finally {
      timeout.abort();
    }
  }

  #connect(): Connection {
    const client = this.#redis.createClient({ url: this.#url, disableOfflineQueue: true, maintNotifications: "disabled", socket: { connectTimeout: COMMAND_TIMEOUT_MS, reconnectStrategy: false } }) as Client;
    // Each command fails with the same error. Without a listener the process would end.
    client.on("error", () => {});
    return { client, connected: client.connect() };
  }

  /** Ends a connection, including one whose server has accepted it and does not answer. */
  #drop(connection: Connection): void {
    if (this.#current === connection) this.#current = undefined;
    if (connection.client.isOpen) connection.client.destroy();
  }

  #serverError(error: Error): StoreUnavailable {
    if (/^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH)\b/.test(error.message)) return this.#failure("refused the user, the password or the command", "correct the URL of the store and the rights of its user, then start the host again");
    if (/^(OOM|MISCONF|NOREPLICAS)\b/.test(error.message)) return this.#failure("takes no writes now, and the sessions are as before", "free memory or disk of the server, then retry");
    return this.#failure(`answered with an error (${/^[A-Z]*/.exec(error.message)?.[0]})`, "check that it is Redis 7 or newer, and that nothing else uses the keys of the store");
  }

  /** No cause, and no part of the server's message, because either may contain the password. */
  #failure(what: string, advice: string): StoreUnavailable {
    return new StoreUnavailable(`the Redis server of the session store (${addressOf(this.#url)}) ${what}: ${advice}`);
  }
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

async function rejectAt(deadline: number, signal: AbortSignal): Promise<never> {
  await delay(deadline - performance.now(), undefined, { signal });
  throw new Error("no answer in time");
}

/**
 * The app's handle to a query, which is available while the module that runs it (`mcp-web-query.js`) is still being loaded.
 */

import { randomHex } from "./random.ts";
import type { QueryRun } from "../query/query-run.ts";
import type { Query, QueryEvent, QueryResult } from "../types/query.ts";

/** Generates a UUID of version 4, also on plain http pages, where `crypto.randomUUID` is missing. */
export const randomUuid = (): string => randomHex().replace(/(.{8})(.{4}).(.{3}).(.{3})(.{12})/, "$1-$2-4$3-a$4-$5");

export class PageQuery<Needs extends unknown[]> implements Query {
  readonly uuid: string;
  readonly #starting: Promise<QueryRun>;
  #run: (Pick<QueryRun, "state"> & Partial<QueryRun>) | undefined;
  readonly #result: Promise<QueryResult>;
  #isWatched = false;
  /** The arguments of `cancel()`, once the app has called it. */
  #cancellation: [reason?: string] | undefined;

  /** `needs` is a promise of the arguments of `start`, which starts the run. */
  constructor(uuid: string, needs: Promise<Needs>, start: (...needs: Needs) => QueryRun) {
    this.uuid = uuid;
    this.#starting = needs.then((needs) => {
      const run = start(...needs);
      this.#run = run;
      // Nothing of the query has been sent yet.
      if (this.#cancellation) run.cancel(...this.#cancellation);
      return run;
    });
    this.#starting.catch(() => (this.#run = { state: "failed" }));
    this.#result = this.#starting.then((run) => run.result);
    // An unobserved failure is written to the console.
    this.#result.catch(({ message }) => {
      if (!this.#isWatched && this.state === "failed") console.error(`mcp-web: the query failed: ${message}`);
    });
  }

  get state(): Query["state"] {
    return this.#run?.state ?? (this.#cancellation ? "cancelled" : "waiting");
  }

  get result(): Promise<QueryResult> {
    this.#isWatched = true;
    return this.#result;
  }

  cancel(reason?: string): void {
    this.#cancellation = [reason];
    this.#run?.cancel?.(reason);
  }

  approve(id: string, approved?: boolean): void {
    this.#run?.approve?.(id, approved);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<QueryEvent, void, undefined> {
    this.#isWatched = true;
    yield* (await this.#starting).events();
  }
}

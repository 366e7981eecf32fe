/** Ends the command: on a signal, at the end of a process that it needs, or after a failure. */

import { type ChildProcess } from "node:child_process";
import { once } from "node:events";

import { AppError } from "../engine/app-error.ts";

/** The end of the command. */
export class End {
  readonly #end = Promise.withResolvers<void>();
  #isOver = false;

  constructor() {
    const over = () => (this.#isOver = true);
    this.promise.then(over, over);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => this.#end.resolve());
  }

  /** Fulfilled when the command must end; rejected when something that it needs has failed. */
  get promise(): Promise<void> {
    return this.#end.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  fail(error: unknown): void {
    this.#end.reject(error);
  }

  /** Ends the command together with a process: with a failure if there is a reason. */
  with(child: ChildProcess, failure?: string): void {
    once(child, "close").then(
      () => (failure === undefined ? this.#end.resolve() : this.fail(new AppError(failure))),
      (error) => this.fail(error),
    );
  }
}

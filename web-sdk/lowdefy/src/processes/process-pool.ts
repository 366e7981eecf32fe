/** The session processes of a host: one for each user who uses it, and one that waits for the next. */

import { handlerFailed } from "./call-failure.ts";
import { type ProcessOptions, type ProcessOwner, SessionProcess } from "./session-process.ts";

/** How often unused processes are looked for. */
const SWEEP_MS = 1000;

/** How many processes of a user may fail within a period: each start takes half a second of a processor from the others. */
const MAX_FAULTS = 5;
const FAULT_PERIOD_MS = 60_000;

/** How many processes there are, and for how long. */
export interface PoolLimits {
  maxProcesses: number;
  /** How long a process is kept after its last call. */
  idleMs: number;
  /** How long a call waits for a process when all are in use. */
  waitMs: number;
}

/** The process of an owner, or its start. */
interface Assignment {
  starting: Promise<SessionProcess>;
  process?: SessionProcess;
}

/** Gives each user a process. */
export class ProcessPool {
  readonly #limits: PoolLimits;
  readonly #sweep: NodeJS.Timeout;
  readonly #assigned = new Map<ProcessOwner, Assignment>();
  /** Processes that were taken from their owners and have not ended. */
  readonly #ending = new Set<SessionProcess>();
  /** When processes of an owner have failed. */
  readonly #faults = new WeakMap<ProcessOwner, number[]>();
  #options: ProcessOptions;
  #spare: Promise<SessionProcess> | undefined;
  /** Fulfilled when a process may have become free. */
  #changed = Promise.withResolvers<void>();
  #isDisposed = false;

  private constructor(options: ProcessOptions, limits: PoolLimits) {
    this.#options = options;
    this.#limits = limits;
    this.#sweep = setInterval(() => this.#endUnused(), SWEEP_MS).unref();
  }

  /** Opens a pool with its first process. @throws AppError when it cannot load the app. */
  static async open(options: ProcessOptions, limits: PoolLimits): Promise<ProcessPool> {
    const pool = new ProcessPool(options, limits);
    const first = await SessionProcess.start(options);
    pool.#keepSpare(Promise.resolve(first));
    return pool;
  }

  /** Takes what a newer build needs: processes with calls end after them. @throws AppError when no process can load it. */
  async reload(options: ProcessOptions): Promise<void> {
    const first = await SessionProcess.start(options);
    this.#options = options;
    const former = this.#spare;
    this.#keepSpare(Promise.resolve(first));
    for (const { process } of this.#assigned.values()) if (process) process.isOutdated = true;
    await former?.then((process) => process.stop()).catch(() => {});
  }

  /** Does work with the process of an owner, which it keeps meanwhile. @throws an error with the reason `HostBusy` when all are in use. */
  async use<Value>(owner: ProcessOwner, work: (process: SessionProcess) => Promise<Value>): Promise<Value> {
    const process = await this.#reserve(owner);
    try {
      return await work(process);
    } finally {
      process.release();
      this.#notify();
    }
  }

  /** Returns the process of an owner, reserved for one use. */
  async #reserve(owner: ProcessOwner): Promise<SessionProcess> {
    const due = performance.now() + this.#limits.waitMs;
    for (;;) {
      const known = this.#assigned.get(owner);
      if (known) {
        const process = await known.starting.catch(() => undefined);
        if (process && !this.#isLeft(process)) return process.reserve();
        if (this.#assigned.get(owner) === known) this.#release(owner);
        continue;
      }
      this.#checkFaults(owner);
      if (this.#spare || this.#makeRoom()) return this.#assign(owner);
      await this.#room(due);
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** The number of processes for users and for the next one. Those that are being killed are gone at once. */
  get size(): number {
    return this.#assigned.size + (this.#spare ? 1 : 0);
  }

  async dispose(): Promise<void> {
    this.#isDisposed = true;
    clearInterval(this.#sweep);
    const spare = await this.#spare?.catch(() => undefined);
    for (const owner of [...this.#assigned.keys()]) this.#release(owner);
    await Promise.all([spare?.stop(), ...[...this.#ending].map((process) => process.ended)]);
  }

  /** Whether an owner needs another process. */
  #isLeft(process: SessionProcess): boolean {
    return process.hasEnded || (process.isIdle && (process.isOutdated || process.isWorn));
  }

  #assign(owner: ProcessOwner): Promise<SessionProcess> {
    const starting = this.#spare ?? SessionProcess.start(this.#options);
    this.#spare = undefined;
    const assignment: Assignment = { starting };
    this.#assigned.set(owner, assignment);
    const options = this.#options;
    return starting.then(
      (process) => {
        process.belongsTo(owner);
        void process.ended.then(() => process.hasFailed && this.#failed(owner));
        process.isOutdated = options !== this.#options;
        assignment.process = process;
        // The next user does not wait for a start.
        this.#startSpare();
        return process.reserve();
      },
      (error: unknown) => {
        if (this.#assigned.get(owner) === assignment) this.#assigned.delete(owner);
        throw error;
      },
    );
  }

  #failed(owner: ProcessOwner): void {
    this.#faults.set(owner, [...(this.#faults.get(owner) ?? []), performance.now()].slice(-MAX_FAULTS));
  }

  /** @throws an error with the reason `TooManyFaults` when the processes of an owner fail again and again. */
  #checkFaults(owner: ProcessOwner): void {
    const faults = this.#faults.get(owner) ?? [];
    const leftMs = (faults[0] ?? 0) + FAULT_PERIOD_MS - performance.now();
    if (faults.length < MAX_FAULTS || leftMs <= 0) return;
    throw handlerFailed("TooManyFaults", `${MAX_FAULTS} processes of this user have failed within a minute: nothing was done, try again in ${Math.ceil(leftMs / 1000)} s`);
  }

  #startSpare(): void {
    if (this.#spare || this.#isDisposed || this.size >= this.#limits.maxProcesses) return;
    this.#keepSpare(SessionProcess.start(this.#options));
  }

  #keepSpare(starting: Promise<SessionProcess>): void {
    this.#spare = starting;
    const lost = () => {
      if (this.#spare === starting) this.#spare = undefined;
    };
    starting.then((process) => process.ended).then(lost, (error: Error) => {
      lost();
      this.#options.say(error.message);
    });
  }

  /** Makes room for one more process, by ending the one that was used first of those without a call. */
  #makeRoom(): boolean {
    if (this.size < this.#limits.maxProcesses) return true;
    const idle = [...this.#assigned].filter(([, { process }]) => process?.isIdle);
    const [first] = idle.sort(([, one], [, other]) => one.process!.idleSince - other.process!.idleSince);
    if (!first) return false;
    this.#release(first[0]);
    return true;
  }

  async #room(due: number): Promise<void> {
    const left = due - performance.now();
    const { maxProcesses } = this.#limits;
    if (left <= 0) throw handlerFailed("HostBusy", `all ${maxProcesses} processes for users are in use (--max-processes): nothing was done, try again`);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, left);
    await Promise.race([this.#changed.promise, late]);
    clearTimeout(timer);
  }

  /** Ends the process of an owner. */
  #release(owner: ProcessOwner): void {
    const process = this.#assigned.get(owner)?.process;
    this.#assigned.delete(owner);
    this.#notify();
    if (!process) return;
    this.#ending.add(process);
    void process.stop().then(() => {
      this.#ending.delete(process);
      this.#notify();
    });
  }

  #endUnused(): void {
    const due = performance.now() - this.#limits.idleMs;
    for (const [owner, { process }] of this.#assigned) {
      if (process && (process.hasEnded || (process.isIdle && process.idleSince < due))) this.#release(owner);
    }
    this.#startSpare();
  }
}

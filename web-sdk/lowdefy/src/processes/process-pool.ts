/** The session processes of a host: one for each active user, and a spare one for the next user. */

import { handlerFailed } from "./call-failure.ts";
import { type ProcessOptions, type ProcessOwner, ProcessHandle } from "./process-handle.ts";

/** Interval of the check for unused processes. */
const SWEEP_MS = 1000;
/** Maximum delay after a process that could not be started. */
const MAX_START_DELAY_MS = 60_000;

/**
 * Maximum number of failed processes of a user within a period: each start takes half a second of processor time from
 * others.
 */
const MAX_FAULTS = 5;
const FAULT_PERIOD_MS = 60_000;

/** The limits of a pool. */
export interface PoolLimits {
  maxProcesses: number;
  /** How long a process is kept after its last call. */
  idleMs: number;
  /** How long a call waits for a process if all are in use. */
  waitMs: number;
}

/** The process of an owner, which may still be starting. */
interface Assignment {
  starting: Promise<ProcessHandle>;
  process?: ProcessHandle;
}

/** Assigns a process to each user. */
export class ProcessPool {
  readonly #limits: PoolLimits;
  #sweep: NodeJS.Timeout | undefined;
  readonly #assigned = new Map<ProcessOwner, Assignment>();
  /** Processes that were taken from their owners and have not ended. */
  readonly #ending = new Set<ProcessHandle>();
  /** The times at which processes of an owner failed. */
  readonly #faults = new WeakMap<ProcessOwner, number[]>();
  #options: ProcessOptions;
  #spare: Promise<ProcessHandle> | undefined;
  /** The number of failed starts since the last success, and the time of the next start. */
  #failedStarts = 0;
  #nextStartAt = 0;
  /** Number of calls that wait because all processes are in use. */
  #waiting = 0;
  /** Fulfilled when a process may have become available. */
  #changed = Promise.withResolvers<void>();
  #isDisposed = false;

  private constructor(options: ProcessOptions, limits: PoolLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  /** Opens a pool with its first process. @throws AppError if it cannot load the app. */
  static async open(options: ProcessOptions, limits: PoolLimits): Promise<ProcessPool> {
    const pool = new ProcessPool(options, limits);
    const first = await ProcessHandle.start(options);
    pool.#keepSpare(Promise.resolve(first));
    pool.#sweep = setInterval(() => pool.#endUnused(), SWEEP_MS).unref();
    return pool;
  }

  /**
   * Switches to the options of a newer build. Idle processes end, and those with calls end afterwards.
   *
   * @throws AppError if no process can load it.
   */
  async reload(options: ProcessOptions): Promise<void> {
    const first = await ProcessHandle.start(options);
    const former = this.#spare;
    this.#spare = undefined;
    this.#options = options;
    for (const [owner, { process }] of this.#assigned) {
      if (!process) continue;
      process.isOutdated = true;
      if (process.isIdle) this.#release(owner);
    }
    if (this.#isDisposed || this.size >= this.#limits.maxProcesses) await first.stop();
    else this.#keepSpare(Promise.resolve(first));
    await former?.then((process) => process.stop()).catch(() => {});
  }

  /**
   * Runs work with the process of an owner, which stays assigned meanwhile.
   *
   * @throws an error with the reason `HostBusy` if all are in use, or the reason of the signal.
   */
  async use<Value>(owner: ProcessOwner, signal: AbortSignal, work: (process: ProcessHandle) => Promise<Value>): Promise<Value> {
    const process = await this.#reserve(owner, signal);
    try {
      return await work(process);
    } finally {
      process.release();
      this.#notify();
    }
  }

  /** Returns the process of an owner, reserved for one use. */
  async #reserve(owner: ProcessOwner, signal: AbortSignal): Promise<ProcessHandle> {
    const due = performance.now() + this.#limits.waitMs;
    let [isWaiting, isNew] = [false, false];
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#isDisposed) throw handlerFailed("HostEnds", "the host ends: nothing was done");
        const known = this.#assigned.get(owner);
        if (known) {
          const process = await known.starting.catch(() => undefined);
          const isUsable = process && !needsReplacement(process);
          // An owner whose calls overlap without end would keep a place forever.
          if (isUsable && this.#waiting > 0 && !isNew) await this.#waitForRoom(due, signal);
          else if (isUsable) return process.reserve();
          else if (this.#assigned.get(owner) === known) this.#release(owner);
          continue;
        }
        this.#checkFaults(owner);
        if (this.#spare || this.#makeRoom()) {
          isNew = true;
          await this.#assign(owner);
          continue;
        }
        if (!isWaiting) this.#waiting += 1;
        isWaiting = true;
        await this.#waitForRoom(due, signal);
      }
    } finally {
      if (isWaiting) {
        this.#waiting -= 1;
        this.#notify();
      }
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** The number of processes for users and of the spare one. Those being killed do not count. */
  get size(): number {
    return this.#assigned.size + (this.#spare ? 1 : 0);
  }

  async dispose(): Promise<void> {
    this.#isDisposed = true;
    clearInterval(this.#sweep);
    this.#notify();
    const all = [this.#spare, ...[...this.#assigned.values()].map(({ starting }) => starting)];
    this.#assigned.clear();
    await Promise.all(all.map((starting) => starting?.then((process) => process.stop()).catch(() => {})));
    await Promise.all([...this.#ending].map((process) => process.ended));
  }

  /** Assigns a process to an owner. */
  async #assign(owner: ProcessOwner): Promise<void> {
    const starting = this.#spare ?? ProcessHandle.start(this.#options);
    this.#spare = undefined;
    const assignment: Assignment = { starting };
    this.#assigned.set(owner, assignment);
    const options = this.#options;
    try {
      const process = await starting;
      process.assignTo(owner);
      void process.ended.then(() => process.hasFailed && this.#failed(owner));
      process.isOutdated = options !== this.#options;
      assignment.process = process;
      // The next user does not wait for a start.
      this.#startSpare();
    } catch (error) {
      if (this.#assigned.get(owner) === assignment) this.#assigned.delete(owner);
      throw error;
    }
  }

  #failed(owner: ProcessOwner): void {
    this.#faults.set(owner, [...(this.#faults.get(owner) ?? []), performance.now()].slice(-MAX_FAULTS));
  }

  /** @throws an error with the reason `TooManyFaults` if the processes of an owner fail repeatedly. */
  #checkFaults(owner: ProcessOwner): void {
    const faults = this.#faults.get(owner) ?? [];
    const leftMs = (faults[0] ?? 0) + FAULT_PERIOD_MS - performance.now();
    if (faults.length < MAX_FAULTS || leftMs <= 0) return;
    throw handlerFailed("TooManyFaults", `${MAX_FAULTS} processes of this user have failed within a minute: nothing was done, try again in ${Math.ceil(leftMs / 1000)} s`);
  }

  #startSpare(): void {
    if (this.#spare || this.#isDisposed || this.size >= this.#limits.maxProcesses || performance.now() < this.#nextStartAt) return;
    this.#keepSpare(ProcessHandle.start(this.#options));
  }

  #keepSpare(starting: Promise<ProcessHandle>): void {
    this.#spare = starting;
    const lost = () => {
      if (this.#spare === starting) this.#spare = undefined;
    };
    const started = (process: ProcessHandle) => {
      this.#failedStarts = 0;
      return process.ended;
    };
    starting.then(started).then(lost, (error: Error) => {
      lost();
      this.#failedStarts += 1;
      this.#nextStartAt = performance.now() + Math.min(MAX_START_DELAY_MS, SWEEP_MS * 2 ** this.#failedStarts);
      this.#options.log(error.message);
    });
  }

  /** Makes room for one more process by ending the least recently used one without a call. */
  #makeRoom(): boolean {
    if (this.size < this.#limits.maxProcesses) return true;
    const idle = [...this.#assigned].filter(([, { process }]) => process?.isIdle);
    const [first] = idle.sort(([, one], [, other]) => one.process!.idleSince - other.process!.idleSince);
    if (!first) return false;
    this.#release(first[0]);
    return true;
  }

  async #waitForRoom(due: number, signal: AbortSignal): Promise<void> {
    const left = due - performance.now();
    const { maxProcesses } = this.#limits;
    if (left <= 0) throw handlerFailed("HostBusy", `all ${maxProcesses} processes for users are in use (--max-processes): nothing was done, try again`);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, left);
    const cancel = () => resolve();
    signal.addEventListener("abort", cancel);
    await Promise.race([this.#changed.promise, over]);
    signal.removeEventListener("abort", cancel);
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

/** Returns whether an owner needs another process. */
const needsReplacement = (process: ProcessHandle): boolean => process.hasEnded || (process.isIdle && (process.isOutdated || process.isExhausted));

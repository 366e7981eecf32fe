/** Ends a process that uses too much or does not respond, and lowers the priority of one that uses much for a long time. */

import type { ProcessUsage } from "./process-usage.ts";

/** Interval of the checks, in milliseconds. */
export const CHECK_MS = 250;
/** How long a process without processor time may leave a ping unanswered. */
const MAX_SILENCE_MS = 10_000;
/** Processor time beyond {@link FREE_SHARE} after which a process gets a lower priority than those of other users. */
const MAX_EQUAL_CPU_MS = 500;
/** The share of a core that a process may use permanently, at the priority of the others. */
const FREE_SHARE = 1 / 4;
/**
 * The share of a core that a process may use permanently without a running call: its engine collects garbage, and compiles.
 */
const IDLE_SHARE = 1 / 20;

/** Limits of a process. */
export interface WatchLimits {
  memoryMb: number;
  /** Maximum processor time of a call, and of work between calls. */
  maxCallCpuMs: number;
}

/** Why a process has ended, for the callers of its calls. */
export interface ProcessEnd {
  reason: string;
  message: string;
}

/** Functions of a process that the watchdog uses. */
export interface WatchedProcess {
  /** Returns its usage, if the system reports it. */
  usage(): ProcessUsage | undefined;
  ping(): void;
  kill(end: ProcessEnd): void;
  giveWay(): void;
}

/** Checks one process. */
export class Watchdog {
  readonly #process: WatchedProcess;
  readonly #limits: WatchLimits;
  readonly #timer: NodeJS.Timeout;
  #calls = 0;
  #cpuMs = 0;
  #measuredAt = performance.now();
  /** Processor time of the running calls. If there are several, the free share is not deducted. */
  #callMs = 0;
  /** Processor time without calls, and in total, each beyond the free share. */
  #idleMs = 0;
  #surplusMs = 0;
  #isAssigned = false;
  #hasGivenWay = false;
  /** The unanswered ping. */
  #ping: { at: number; cpuMs: number } | undefined;

  constructor(process: WatchedProcess, limits: WatchLimits) {
    this.#process = process;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** The processor time of the process so far. */
  get cpuMs(): number {
    return this.#cpuMs;
  }

  get hasGivenWay(): boolean {
    return this.#hasGivenWay;
  }

  /** Called when the process gets its user, because the usage of its start does not count. */
  assigned(): void {
    this.#measure();
    this.#surplusMs = 0;
    this.#idleMs = 0;
    this.#isAssigned = true;
  }

  callBegan(): void {
    this.#measure();
    if (this.#calls === 0) this.#callMs = 0;
    this.#calls += 1;
  }

  callEnded(): void {
    this.#measure();
    this.#calls -= 1;
  }

  pong(): void {
    this.#ping = undefined;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Charges the process for its usage since the last measurement. */
  #measure(): ProcessUsage | undefined {
    const usage = this.#process.usage();
    if (!usage) return undefined;
    const now = performance.now();
    const [usedMs, passedMs] = [usage.cpuMs - this.#cpuMs, now - this.#measuredAt];
    this.#cpuMs = usage.cpuMs;
    this.#measuredAt = now;
    if (this.#calls > 0) this.#callMs = Math.max(0, this.#callMs + usedMs - (this.#calls > 1 ? passedMs * FREE_SHARE : 0));
    this.#idleMs = Math.max(0, this.#idleMs + (this.#calls > 0 ? 0 : usedMs) - passedMs * IDLE_SHARE);
    this.#surplusMs = Math.max(0, this.#surplusMs + usedMs - passedMs * FREE_SHARE);
    return usage;
  }

  #check(): void {
    const { maxCallCpuMs, memoryMb } = this.#limits;
    const usage = this.#measure();
    if (usage && usage.bytes > memoryMb * 1024 * 1024) return this.#process.kill(outOfMemory(memoryMb));
    if (this.#isAssigned && Math.max(this.#callMs, this.#idleMs) > maxCallCpuMs) return this.#process.kill(tooLong(maxCallCpuMs));
    if (this.#isAssigned && this.#surplusMs > MAX_EQUAL_CPU_MS && !this.#hasGivenWay) {
      this.#hasGivenWay = true;
      this.#process.giveWay();
    }
    this.#checkPing(usage !== undefined);
  }

  #checkPing(isMeasured: boolean): void {
    const now = performance.now();
    if (!this.#ping) {
      this.#ping = { at: now, cpuMs: this.#cpuMs };
      return this.#process.ping();
    }
    const silentMs = now - this.#ping.at;
    if (!isMeasured) {
      if (silentMs > this.#limits.maxCallCpuMs + MAX_SILENCE_MS) this.#process.kill(tooLong(this.#limits.maxCallCpuMs));
    } else if (silentMs > MAX_SILENCE_MS && this.#cpuMs === this.#ping.cpuMs) {
      this.#process.kill({ reason: "ProcessEnded", message: `did not answer for ${MAX_SILENCE_MS / 1000} s` });
    }
  }
}

export const outOfMemory = (memoryMb: number): ProcessEnd => ({ reason: "ProcessOutOfMemory", message: `needed more than ${memoryMb} MB (--process-memory)` });

const tooLong = (ms: number): ProcessEnd => ({ reason: "CallTooLong", message: `used more than ${ms} ms of processor time (maxCallCpuMs)` });

/** A process that runs sessions of one user. It is not trusted: code of the app runs in it, with what its user has filled in. */

import type { ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";

import { AppError } from "../engine/app-error.ts";
import { handlerFailed } from "./call-failure.ts";
import { CHANNEL_CLOSED, CHANNEL_FD, Channel } from "./channel.ts";
import { type Ask, type Failure, type ProcessMessage, type ProcessSettings, type SessionCall, checkProcessMessage, checkToolResult, errorOf, failureOf } from "./messages.ts";
import { readUsage } from "./process-usage.ts";
import { MAX_LIFE_CPU_SECONDS, startProgram, yieldToAll } from "./program.ts";

/** How long a process may take to load the app. */
const MAX_START_MS = 60_000;
/** How often a process is looked at. */
const WATCH_MS = 250;
/** The processor time of a call that makes its process give way to those of other users. */
const MAX_EQUAL_CPU_MS = 500;
/** How long a process that uses no processor time may leave a message unanswered. */
const MAX_SILENCE_MS = 10_000;
/** How long a process may take to end a call that was cancelled. */
const MAX_CANCEL_MS = 15_000;
/** Calls that a process has at once, and questions that it may have open. */
const MAX_CALLS = 64;
const MAX_ASKS = 256;
/** Length of a message besides the state of a session. */
const MESSAGE_OVERHEAD_BYTES = 2 * 1024 * 1024;
/** Lines that a process may log, in a period of time. */
const MAX_LOG_LINES = 20;
const LOG_PERIOD_MS = 10_000;
const MAX_STDERR_CHARS = 4000;

/** Options of the start of a process. */
export interface ProcessOptions {
  settings: ProcessSettings;
  /** The folders that it may read. */
  readable: readonly string[];
  memoryMb: number;
  /** The processor time that it may use until a call has ended. */
  maxCallCpuMs: number;
  /** Writes a line of the log. */
  say(text: string): void;
}

/** Owner of a process: the sessions of one user. */
export interface ProcessOwner {
  /** Answers a question about a session. An error is passed on as the answer. */
  answer(ask: Ask): Promise<unknown>;
}

/** Why a process has ended, for the callers of its calls. */
interface ProcessEnd {
  reason: string;
  message: string;
}

interface PendingCall {
  call: SessionCall;
  resolve(value: object): void;
  reject(error: Error): void;
}

/** A process for the sessions of one user. */
export class SessionProcess {
  /** Whether it runs an app that was built again since. */
  isOutdated = false;
  /** When it was used last. */
  idleSince = performance.now();
  #reserved = 0;
  #isStopped = false;
  readonly #options: ProcessOptions;
  readonly #child: ChildProcess;
  readonly #channel: Channel;
  readonly #watch: NodeJS.Timeout;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #calls = new Map<number, PendingCall>();
  #owner: ProcessOwner | undefined;
  #end: ProcessEnd | undefined;
  #lastId = 0;
  #asks = 0;
  #loggedLines = 0;
  #logPeriodFrom = 0;
  #stderr = "";
  /** The processor time when a call has ended last; not known until the next look. */
  #cpuBefore: number | undefined;
  #cpuMs = 0;
  /** Whether it gives way to the processes of other users, for the rest of its life. */
  #isYielding = false;
  /** The message that was not answered yet. */
  #ping: { at: number; cpuMs: number } | undefined;

  private constructor(options: ProcessOptions) {
    this.#options = options;
    this.#child = startProgram(options.readable, options.memoryMb);
    const receiver = { message: (message: unknown) => this.#received(checkProcessMessage(message)), closed: (reason: string) => this.#closed(reason) };
    this.#channel = new Channel(this.#child.stdio[CHANNEL_FD] as Duplex, receiver, { maxBytes: options.settings.maxStateBytes + MESSAGE_OVERHEAD_BYTES });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARS)));
    this.#child.once("error", (error) => this.#over({ reason: "ProcessEnded", message: `could not be started: ${error.message}` }));
    this.#child.once("exit", (code, signal) => this.#over(this.#exit(code, signal)));
    this.#watch = setInterval(() => this.#look(), WATCH_MS).unref();
  }

  /** Starts a process without a user. @throws AppError when it cannot load the app. */
  static async start(options: ProcessOptions): Promise<SessionProcess> {
    const process = new SessionProcess(options);
    process.#channel.send({ type: "start", settings: options.settings });
    const late = setTimeout(() => process.kill({ reason: "ProcessEnded", message: `was not ready after ${MAX_START_MS / 1000} s` }), MAX_START_MS);
    try {
      await process.#started.promise;
      return process;
    } catch (error) {
      process.kill({ reason: "ProcessEnded", message: "could not load the app" });
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isIdle(): boolean {
    return this.#reserved === 0;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether it has used so much processor time that the next call needs another one. */
  get isWorn(): boolean {
    return this.#isYielding || this.#cpuMs > (MAX_LIFE_CPU_SECONDS * 1000) / 2;
  }

  /** Fulfilled when the process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Keeps the process until {@link SessionProcess.release}. */
  reserve(): this {
    this.#reserved += 1;
    return this;
  }

  release(): void {
    this.#reserved -= 1;
    this.idleSince = performance.now();
  }

  /** Gives the process to the one who owns it from now on. */
  belongsTo(owner: ProcessOwner): void {
    this.#owner = owner;
  }

  /** Makes a call. @throws the error of the call, or one that says why the process has ended. */
  async call(call: SessionCall, signal: AbortSignal): Promise<object> {
    if (this.#end) throw endedError(this.#end);
    if (this.#calls.size >= MAX_CALLS) throw handlerFailed("TooManyCalls", `${MAX_CALLS} calls of this user are under way: nothing was done, try again when one has ended`);
    if (this.#calls.size === 0) this.#cpuBefore = undefined;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    this.#calls.set(id, { call, resolve, reject });
    let late: NodeJS.Timeout | undefined;
    const cancel = () => {
      this.#channel.send({ type: "cancel", id });
      late = setTimeout(() => this.kill({ reason: "ProcessEnded", message: "did not end a call that was cancelled" }), MAX_CANCEL_MS);
    };
    signal.addEventListener("abort", cancel);
    try {
      this.#channel.send({ type: "call", id, call });
      // It fires no more.
      if (signal.aborted) cancel();
      return await promise;
    } finally {
      signal.removeEventListener("abort", cancel);
      clearTimeout(late);
      this.#calls.delete(id);
      this.#cpuBefore = undefined;
    }
  }

  /** Lets the process forget a session. */
  forget(sessionId: string): void {
    this.#channel.send({ type: "forget", sessionId });
  }

  /** Whether it has ended otherwise than by {@link SessionProcess.stop}. */
  get hasFailed(): boolean {
    return this.hasEnded && !this.#isStopped;
  }

  /** Ends the process, which has nothing to do. */
  async stop(): Promise<void> {
    this.#isStopped = !this.hasEnded;
    this.kill({ reason: "ProcessEnded", message: "was ended by its host" });
    await this.ended;
  }

  /** Ends the process at once. */
  kill(end: ProcessEnd): void {
    this.#over(end);
    this.#child.kill("SIGKILL");
  }

  #received(message: ProcessMessage): void {
    switch (message.type) {
      case "started":
        return this.#started.resolve();
      case "failed":
        return this.#started.reject(new AppError(message.message));
      case "pong":
        this.#ping = undefined;
        return;
      case "log":
        return this.#log(message.text);
      case "ask":
        return this.#answer(message.id, message);
      case "result": {
        const { call, resolve } = this.#pending(message.id);
        return resolve(checkToolResult(call.method, message.value));
      }
      case "failure":
        return this.#pending(message.id).reject(errorOfCall(message.failure));
    }
  }

  #pending(id: number): PendingCall {
    const pending = this.#calls.get(id);
    if (!pending) throw new Error("it has answered a call that was not made");
    this.#calls.delete(id);
    return pending;
  }

  #answer(id: number, ask: Ask): void {
    if (!this.#owner) throw new Error("it has asked before it had a user");
    this.#asks += 1;
    if (this.#asks > MAX_ASKS) throw new Error(`it has more than ${MAX_ASKS} open questions`);
    this.#owner
      .answer(ask)
      .then(
        (value) => this.#channel.send({ type: "answer", id, value }),
        (error: unknown) => this.#channel.send({ type: "refusal", id, failure: failureOf(error) }),
      )
      .finally(() => (this.#asks -= 1));
  }

  #log(text: string): void {
    const now = performance.now();
    if (now - this.#logPeriodFrom > LOG_PERIOD_MS) {
      this.#logPeriodFrom = now;
      this.#loggedLines = 0;
    }
    this.#loggedLines += 1;
    if (this.#loggedLines <= MAX_LOG_LINES) this.#options.say(text);
  }

  /** Ends the process when it uses too much, or does not answer. */
  #look(): void {
    const usage = this.pid === undefined ? undefined : readUsage(this.pid);
    const { maxCallCpuMs, memoryMb } = this.#options;
    const now = performance.now();
    if (usage) {
      this.#cpuMs = usage.cpuMs;
      this.#cpuBefore ??= usage.cpuMs;
      if (usage.bytes > memoryMb * 1024 * 1024) return this.kill(this.#outOfMemory());
      const usedMs = usage.cpuMs - this.#cpuBefore;
      if (usedMs > maxCallCpuMs) return this.kill(tooLong(maxCallCpuMs));
      if (usedMs > MAX_EQUAL_CPU_MS && !this.#isYielding && this.#owner) this.#yield();
    }
    const cpuMs = usage?.cpuMs ?? 0;
    if (!this.#ping) {
      this.#ping = { at: now, cpuMs };
      this.#channel.send({ type: "ping", id: 0 });
      return;
    }
    const silentMs = now - this.#ping.at;
    if (!usage && silentMs > maxCallCpuMs + MAX_SILENCE_MS) return this.kill(tooLong(maxCallCpuMs));
    if (usage && silentMs > MAX_SILENCE_MS && cpuMs === this.#ping.cpuMs) this.kill({ reason: "ProcessEnded", message: `did not answer for ${MAX_SILENCE_MS / 1000} s` });
  }

  #yield(): void {
    this.#isYielding = true;
    yieldToAll(this.pid!);
  }

  #closed(reason: string): void {
    const end = () => this.kill({ reason: "ProcessEnded", message: `was ended: ${reason}` });
    // A process that ends closes its channel first, and then its exit code says why.
    if (reason === CHANNEL_CLOSED) setTimeout(end, WATCH_MS).unref();
    else end();
  }

  #exit(code: number | null, signal: NodeJS.Signals | null): ProcessEnd {
    if (/heap out of memory|heap limit|ArrayBuffer.*allocation failed/i.test(this.#stderr)) return this.#outOfMemory();
    return { reason: "ProcessEnded", message: signal ? `was ended by ${signal}` : `has ended with exit code ${code}` };
  }

  #outOfMemory(): ProcessEnd {
    return { reason: "ProcessOutOfMemory", message: `needed more than ${this.#options.memoryMb} MB (--process-memory)` };
  }

  /** Called with each sign of the end. The first one says why. */
  #over(end: ProcessEnd): void {
    if (this.#end) return this.#exited();
    this.#end = end;
    clearInterval(this.#watch);
    this.#channel.close(end.message);
    this.#started.reject(new AppError(`a process for sessions ${end.message}${firstError(this.#stderr)}`));
    for (const { reject } of this.#calls.values()) reject(endedError(end));
    this.#exited();
  }

  #exited(): void {
    const { exitCode, signalCode, pid } = this.#child;
    if (exitCode !== null || signalCode !== null || pid === undefined) this.#ended.resolve();
  }
}

/** Returns the error that ended a process, as an end of a sentence. */
function firstError(text: string): string {
  const message = /^\s*(?:\w*Error)(?: \[\w+\])?: (.+)$/m.exec(text)?.[1];
  return message === undefined ? "" : `: ${message}`;
}

const tooLong = (ms: number): ProcessEnd => ({ reason: "CallTooLong", message: `used more than ${ms} ms of processor time (maxCallCpuMs)` });

const endedError = ({ reason, message }: ProcessEnd): Error =>
  handlerFailed(reason, `the process of this user's sessions ${message}: what the call did in its session is lost, and its requests may have been sent. Look at the page first, then do less in one call`);

/** The error of a call, from a process that may say anything. */
function errorOfCall(failure: Failure): Error {
  return Object.assign(errorOf(failure), failure.isLost && { isLost: true });
}

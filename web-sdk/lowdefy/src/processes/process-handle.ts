/** A process that runs sessions of one user. It is untrusted: code of the app runs in it, with input of its user. */

import type { ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";

import { AppError } from "../engine/app-error.ts";
import { handlerFailed } from "./call-failure.ts";
import { CHANNEL_CLOSED, CHANNEL_FD, Channel } from "./channel.ts";
import { type ProcessFailure, type HostCall, type ProcessMessage, type ProcessSettings, type SessionCall, checkProcessMessage, checkToolResult, errorOf, failureOf } from "./messages.ts";
import { readUsage } from "./process-usage.ts";
import { MAX_LIFE_CPU_SECONDS, giveWayToAll, startProgram } from "./program.ts";
import { CHECK_MS, type ProcessEnd, Watchdog, outOfMemory } from "./watchdog.ts";

/** Maximum time for a process to load the app. */
const MAX_START_MS = 60_000;
/** Maximum time for a process to end a cancelled call. */
const MAX_CANCEL_MS = 15_000;
/** Maximum number of simultaneous calls of a process, and of its open calls to the host. */
const MAX_CALLS = 64;
const MAX_HOST_CALLS = 256;
/** Maximum length of a message in addition to the state of a session. */
const MESSAGE_OVERHEAD_BYTES = 2 * 1024 * 1024;
/** Maximum number of lines that a process may log in a period of time. */
const MAX_LOG_LINES = 20;
const LOG_PERIOD_MS = 10_000;
/** Maximum number of characters of the standard error that are stored, and that are read within a second. */
const MAX_STDERR_CHARS = 4000;
const MAX_STDERR_CHARS_PER_SECOND = 64 * 1024;

/** Options for starting a process. */
export interface ProcessOptions {
  settings: ProcessSettings;
  /** The folders that it may read. */
  readable: readonly string[];
  memoryMb: number;
  /** Maximum processor time until a call has ended. */
  maxCallCpuMs: number;
  /** Writes a line of the log. */
  log(text: string): void;
}

/** Owner of a process: the sessions of one user. */
export interface ProcessOwner {
  /** Handles a call of the process about a session. An error is returned as the answer. */
  handle(call: HostCall): Promise<unknown>;
}

interface PendingCall {
  call: SessionCall;
  resolve(value: object): void;
  reject(error: Error): void;
}

/** A process for the sessions of one user. */
export class ProcessHandle {
  /** Whether it runs an outdated build of the app. */
  isOutdated = false;
  /** When it was last used. */
  idleSince = performance.now();
  #reserved = 0;
  #isStopped = false;
  readonly #options: ProcessOptions;
  readonly #child: ChildProcess;
  readonly #channel: Channel;
  readonly #watchdog: Watchdog;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #calls = new Map<number, PendingCall>();
  #owner: ProcessOwner | undefined;
  #end: ProcessEnd | undefined;
  #lastId = 0;
  #hostCalls = 0;
  #loggedLines = 0;
  #logPeriodFrom = 0;
  #stderr = "";
  /** The number of characters of the standard error read within this second. */
  #stderrChars = 0;

  private constructor(options: ProcessOptions) {
    this.#options = options;
    this.#child = startProgram(options.readable, options.memoryMb);
    const receiver = { message: (message: unknown) => this.#received(checkProcessMessage(message)), closed: (reason: string) => this.#closed(reason) };
    this.#channel = new Channel(this.#child.stdio[CHANNEL_FD] as Duplex, receiver, { maxBytes: options.settings.maxStateBytes + MESSAGE_OVERHEAD_BYTES });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#readStderr(text));
    this.#child.once("error", (error) => this.#endedWith({ reason: "ProcessEnded", message: `could not be started: ${error.message}` }));
    this.#child.once("exit", (code, signal) => this.#endedWith(this.#exit(code, signal)));
    this.#watchdog = new Watchdog(this.#watched(), options);
  }

  /** Starts a process without a user. @throws AppError if it cannot load the app. */
  static async start(options: ProcessOptions): Promise<ProcessHandle> {
    const process = new ProcessHandle(options);
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

  /** Whether it has used so much processor time that the next call needs another process. */
  get isExhausted(): boolean {
    return this.#watchdog.hasGivenWay || this.#watchdog.cpuMs > (MAX_LIFE_CPU_SECONDS * 1000) / 2;
  }

  /** Fulfilled when the process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Keeps the process until {@link ProcessHandle.release}. */
  reserve(): this {
    this.#reserved += 1;
    return this;
  }

  release(): void {
    this.#reserved -= 1;
    this.idleSince = performance.now();
  }

  /** Assigns the process to its owner, for the rest of its lifetime. */
  assignTo(owner: ProcessOwner): void {
    this.#owner = owner;
    this.#watchdog.assigned();
  }

  /** Makes a call. @throws the error of the call, or one with the reason why the process has ended. */
  async call(call: SessionCall, signal: AbortSignal): Promise<object> {
    if (this.#end) throw endedError(this.#end, call);
    if (this.#calls.size >= MAX_CALLS) throw handlerFailed("TooManyCalls", `${MAX_CALLS} calls of this user are under way: nothing was done, try again when one has ended`);
    signal.throwIfAborted();
    this.#watchdog.callBegan();
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
      return await promise;
    } finally {
      signal.removeEventListener("abort", cancel);
      clearTimeout(late);
      this.#calls.delete(id);
      this.#watchdog.callEnded();
    }
  }

  /** Removes a session from the process. */
  forget(sessionId: string): void {
    this.#channel.send({ type: "forget", sessionId });
  }

  /** Whether it ended in another way than by {@link ProcessHandle.stop}. */
  get hasFailed(): boolean {
    return this.hasEnded && !this.#isStopped;
  }

  /** Ends the idle process. */
  async stop(): Promise<void> {
    this.#isStopped = !this.hasEnded;
    this.kill({ reason: "ProcessEnded", message: "was ended by its host" });
    await this.ended;
  }

  /** Ends the process immediately. */
  kill(end: ProcessEnd): void {
    this.#endedWith(end);
    this.#child.kill("SIGKILL");
  }

  #received(message: ProcessMessage): void {
    switch (message.type) {
      case "started":
        return this.#started.resolve();
      case "failed":
        return this.#started.reject(new AppError(message.message));
      case "pong":
        return this.#watchdog.pong();
      case "log":
        return this.#log(message.text);
      case "hostCall":
        return this.#handle(message.id, message);
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
    return pending;
  }

  #handle(id: number, call: HostCall): void {
    if (!this.#owner) throw new Error("it has called its host before it had a user");
    this.#hostCalls += 1;
    if (this.#hostCalls > MAX_HOST_CALLS) throw new Error(`it has more than ${MAX_HOST_CALLS} open calls of its host`);
    this.#owner
      .handle(call)
      .then(
        (value) => this.#channel.send({ type: "hostResult", id, value }),
        (error: unknown) => this.#channel.send({ type: "hostFailure", id, failure: failureOf(error) }),
      )
      .finally(() => (this.#hostCalls -= 1));
  }

  #log(text: string): void {
    const now = performance.now();
    if (now - this.#logPeriodFrom > LOG_PERIOD_MS) {
      this.#logPeriodFrom = now;
      this.#loggedLines = 0;
    }
    this.#loggedLines += 1;
    if (this.#loggedLines <= MAX_LOG_LINES) this.#options.log(text);
  }

  /** Reads only a limited part of the standard error within a second; a process that writes more has to wait. */
  #readStderr(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARS);
    const { stderr } = this.#child;
    if (this.#stderrChars === 0) {
      setTimeout(() => {
        this.#stderrChars = 0;
        stderr?.resume();
      }, 1000).unref();
    }
    this.#stderrChars += text.length;
    if (this.#stderrChars > MAX_STDERR_CHARS_PER_SECOND) stderr?.pause();
  }

  #watched() {
    return {
      usage: () => (this.pid === undefined ? undefined : readUsage(this.pid)),
      ping: () => this.#channel.send({ type: "ping", id: 0 }),
      kill: (end: ProcessEnd) => this.kill(end),
      giveWay: () => giveWayToAll(this.pid!),
    };
  }

  #closed(reason: string): void {
    const end = () => this.kill({ reason: "ProcessEnded", message: `was ended: ${reason}` });
    // A process that ends closes its channel first. Its exit code then has the reason.
    if (reason === CHANNEL_CLOSED) setTimeout(end, CHECK_MS).unref();
    else end();
  }

  #exit(code: number | null, signal: NodeJS.Signals | null): ProcessEnd {
    if (/heap out of memory|heap limit|ArrayBuffer.*allocation failed/i.test(this.#stderr)) return outOfMemory(this.#options.memoryMb);
    return { reason: "ProcessEnded", message: signal ? `was ended by ${signal}` : `has ended with exit code ${code}` };
  }

  /** Called for each sign of the end. The first one has the reason. */
  #endedWith(end: ProcessEnd): void {
    if (this.#end) return this.#exited();
    this.#end = end;
    this.#watchdog.stop();
    this.#channel.close(end.message);
    this.#started.reject(new AppError(`a process for sessions ${end.message}${firstError(this.#stderr)}`));
    for (const { call, reject } of this.#calls.values()) reject(endedError(end, call));
    this.#exited();
  }

  #exited(): void {
    const { exitCode, signalCode, pid } = this.#child;
    if (exitCode !== null || signalCode !== null || pid === undefined) this.#ended.resolve();
  }
}

/** Returns the error that ended a process, in a form that ends a sentence. */
function firstError(text: string): string {
  const message = /^\s*(?:\w*Error)(?: \[\w+\])?: (.+)$/m.exec(text)?.[1];
  return message === undefined ? "" : `: ${message}`;
}

function endedError({ reason, message }: ProcessEnd, { method }: SessionCall): Error {
  const advice = method === "create" ? "no session was created. What its first page does may have been done" : "what the call did in its session is lost, and its requests may have been sent. Look at the page first, then do less in one call";
  return handlerFailed(reason, `the process of this user's sessions ${message}: ${advice}`);
}

/** Returns the error of a call, from an untrusted process. */
function errorOfCall(failure: ProcessFailure): Error {
  return Object.assign(errorOf(failure), failure.isLost && { isLost: true });
}

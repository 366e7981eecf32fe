/**
 * Records the activity of a session during an action: messages, warnings, and unfinished work. Many sessions share a
 * process, so the console output belongs to the session whose code writes it.
 */

import { AsyncLocalStorage } from "node:async_hooks";

/** A message that the app shows its user. */
export interface ShownMessage {
  status: string;
  content: string;
}

/** More warnings would not be informative. */
const MAX_WARNINGS = 10;
const MAX_MESSAGES = 20;

const current = new AsyncLocalStorage<Activity>();

/** The activity of one session. */
export class Activity {
  #messages: ShownMessage[] = [];
  #warnings: string[] = [];
  readonly #pending = new Set<Promise<unknown>>();

  /** Runs a function whose console output belongs to this activity. */
  run<Value>(work: () => Value): Value {
    return current.run(this, work);
  }

  message(status: string, content: string): void {
    if (this.#messages.length < MAX_MESSAGES) this.#messages.push({ status, content });
  }

  warn(text: string): void {
    const isKnown = this.#warnings.includes(text) || this.#messages.some(({ content }) => content === text);
    if (this.#warnings.length < MAX_WARNINGS && !isKnown) this.#warnings.push(text);
  }

  /** Counts a promise as unfinished until it has settled. */
  track<Value>(work: Promise<Value>): Promise<Value> {
    const tracked = work.then(
      () => {},
      () => {},
    );
    this.#pending.add(tracked);
    void tracked.then(() => this.#pending.delete(tracked));
    return work;
  }

  get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  /** Fulfilled when one of the unfinished promises has settled. */
  async oneEnded(): Promise<void> {
    await Promise.race(this.#pending);
  }

  /** Returns the records since the last call. */
  take(): { messages: ShownMessage[]; warnings: string[] } {
    const taken = { messages: this.#messages, warnings: this.#warnings };
    this.#messages = [];
    this.#warnings = [];
    return taken;
  }
}

/**
 * Redirects the console of this process to the sessions, because the engine logs errors there. Output of no session goes to
 * the standard error, because the standard output may be a protocol.
 */
export function redirectConsole(write: (text: string) => void): void {
  const say = (isWarning: boolean) => (...parts: unknown[]) => {
    const text = parts.map(textOf).join(" ");
    const activity = current.getStore();
    if (!activity) write(text);
    else if (isWarning) activity.warn(text);
  };
  console.error = say(true);
  console.warn = say(true);
  console.log = say(false);
  console.info = say(false);
  console.debug = say(false);
}

/** Returns the message of an error, including those that the engine wraps. */
export function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { error } = thrown as { error?: unknown };
  if (error !== undefined) return textOf(error);
  const { message } = thrown as { message?: unknown };
  if (typeof message === "string") return message;
  try {
    return JSON.stringify(thrown);
  } catch {
    return "an object";
  }
}

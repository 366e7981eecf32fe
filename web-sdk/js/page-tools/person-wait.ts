/** Makes page tools wait while the person at the page is asked a question, because nothing may be done on their behalf. */

import { openedQuestion, whenAnswered } from "../person/tab.ts";

/** Maximum total time that a call waits for the person, in milliseconds. */
export const MAX_PERSON_WAIT_MS = 60_000;

/** Interval at which the client is notified why a call waits, in milliseconds. */
const REPORT_MS = 5_000;

/** Waits for a time; fulfilled early if the signal is aborted. */
type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** The waits of one call. */
export class PersonWait {
  /** How long the call has waited for the person, in milliseconds. */
  waitedMs = 0;
  readonly #wait: Wait;
  readonly #report: (message: string) => void;

  /** `report` sends a message to the client. */
  constructor(wait: Wait, report: (message: string) => void) {
    this.#wait = wait;
    this.#report = report;
  }

  /** Waits until no question is open. Returns false if it takes too long. */
  async untilAnswered(signal: AbortSignal): Promise<boolean> {
    const started = performance.now();
    const before = this.waitedMs;
    while (openedQuestion() !== undefined && !signal.aborted && this.waitedMs < MAX_PERSON_WAIT_MS) {
      this.#report(personAskedMessage());
      const end = new AbortController();
      const ended = AbortSignal.any([signal, end.signal]);
      const left = MAX_PERSON_WAIT_MS - this.waitedMs;
      await Promise.race([whenAnswered(ended), this.#wait(Math.min(REPORT_MS, left), ended)]);
      end.abort();
      this.waitedMs = before + performance.now() - started;
    }
    return openedQuestion() === undefined || signal.aborted;
  }
}

/** Returns why no action runs now. */
export const personAskedMessage = (): string =>
  `the person at the page is asked something (${openedQuestion() ?? "it was just answered"}), and page tools do nothing until they have answered`;

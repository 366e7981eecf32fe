/** Runs the actions of a call: takes the next step from the core, and lets the driver perform it. */

import type { Action } from "./actions.ts";
import type { Actions, Report, Step, StepEvent } from "./core.ts";
import { ActionError, type PageDriver } from "./driver.ts";
import type { PageToolsOptions } from "./options.ts";
import { beginAction, openQuestion } from "../person/tab.ts";
import type { PersonWait } from "./person-wait.ts";

/** No limit of elements, because a target may be anywhere. */
export const EVERYTHING = 100_000;

/** The inputs of a run of actions. */
export interface Run {
  actions: Actions;
  /** The actions as the client sent them, validated by the core. */
  list: readonly Action[];
  driver: PageDriver;
  options: Pick<PageToolsOptions, "confirm" | "onAction">;
  signal: AbortSignal;
  /** Waits while the person at the page is asked a question. */
  person: PersonWait;
  /** Called before each action, and after each failed one, with the state for the next document if this one ends now. */
  handOver(state: object): void;
}

/** Runs the actions, and returns their report. */
export async function runActions(run: Run): Promise<Report> {
  const executor = new Executor(run);
  const cancel = () => executor.cancel();
  const release = run.driver.hold();
  run.signal.addEventListener("abort", cancel);
  try {
    if (run.signal.aborted) cancel();
    return await executor.run();
  } finally {
    run.signal.removeEventListener("abort", cancel);
    release();
  }
}

class Executor {
  readonly #run: Run;
  /** The label of each inspected handle. */
  readonly #labels = new Map<string, string>();
  /** Ends the current wait. */
  #waiting: AbortController | undefined;
  /** Ends the recording that {@link beginAction} has started. */
  #endAction: (() => void) | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  cancel(): void {
    this.#run.actions.cancel();
    this.#waiting?.abort();
  }

  async run(): Promise<Report> {
    const { actions } = this.#run;
    let event: StepEvent = { kind: "started" };
    let failures = 0;
    try {
      for (;;) {
        const step = actions.next(event, this.#now());
        if (actions.failures() > failures) {
          failures = actions.failures();
          this.#handOver();
        }
        if (step.kind === "done") return actions.report();
        event = (await this.#mayBegin(step)) ? await this.#perform(step) : { kind: "personAsked" };
      }
    } finally {
      this.#endAction?.();
    }
  }

  /** The time of the actions, which stops while the person is asked a question. */
  #now(): number {
    return performance.now() - this.#run.person.waitedMs;
  }

  /** Waits until no question is open. A step that ends an action is always performed. */
  async #mayBegin({ kind }: Step): Promise<boolean> {
    return kind === "rest" || kind === "readBack" || kind === "end" || this.#run.person.untilAnswered(this.#run.signal);
  }

  #perform(step: Exclude<Step, { kind: "done" }>): StepEvent | Promise<StepEvent> {
    const { driver, list } = this.#run;
    switch (step.kind) {
      case "look":
        return this.#look(step.everyText);
      case "findFocus": {
        const ref = driver.focused();
        return { kind: "focused", ...(ref !== undefined && { ref }) };
      }
      case "inspect": {
        const facts = driver.inspect(step.ref, list[step.index]!);
        if (typeof facts === "object") this.#labels.set(step.ref, facts.label);
        return { kind: "inspected", facts };
      }
      case "confirm":
        return this.#confirmInTime(step);
      case "apply":
        return this.#apply(step);
      case "rest":
        return this.#inTime(async (signal) => {
          await driver.rest(step.isBrief, signal);
          return { kind: "rested" };
        });
      case "readBack":
        try {
          const readBack = driver.readBack(step.ref, list[step.index]!);
          return { kind: "compared", ...(readBack && { readBack }) };
        } catch (error) {
          return { kind: "compared", ...failureOf(error) };
        }
      case "end":
        this.#endAction?.();
        this.#endAction = undefined;
        return { kind: "ended", outcome: driver.endAction() };
      case "awaitChange":
        return this.#awaitChange(step.ms);
    }
  }

  async #look(everyText: boolean): Promise<StepEvent> {
    const { root } = await this.#run.driver.tree({ limit: EVERYTHING, everyText });
    return { kind: "looked", root };
  }

  /** The app may ask the person in its own way; no other call acts meanwhile. */
  async #confirmInTime(step: Extract<Step, { kind: "confirm" }>): Promise<StepEvent> {
    const close = openQuestion("whether an AI client may do something in the page");
    return this.#inTime(() => this.#confirm(step)).finally(close);
  }

  async #confirm({ index, ref, to }: Extract<Step, { kind: "confirm" }>): Promise<StepEvent> {
    const { driver, list, options } = this.#run;
    const action = list[index]!;
    const element = this.#element(ref);
    const label = ref === undefined ? undefined : this.#labels.get(ref);
    const target = { ...(element && { element }), ...(label && { label }) };
    const others = (driver.activated?.(action, ref, to) ?? []).map((one) => ({ ...one, ...(element && { target: { element, label: label ?? "" } }) }));
    try {
      // For an action without a target, such as navigate, the elements that it uses are decisive.
      for (const facts of element || !others.length ? [target, ...others] : others) {
        if ((await options.confirm?.(action, facts)) === false) return { kind: "confirmed", allowed: false };
      }
      return { kind: "confirmed", allowed: true };
    } catch {
      return { kind: "confirmed", allowed: false };
    }
  }

  async #apply({ index, ref, to }: Extract<Step, { kind: "apply" }>): Promise<StepEvent> {
    const { driver, list, options } = this.#run;
    const action = list[index]!;
    this.#handOver();
    const element = this.#element(ref);
    notify(options.onAction, { type: action.type, ...(element && { element }) });
    this.#endAction = beginAction();
    driver.beginAction(action);
    return this.#inTime(async (signal) => {
      try {
        await driver.apply(action, ref, to, signal);
        return { kind: "applied" };
      } catch (error) {
        return { kind: "applied", ...failureOf(error) };
      }
    });
  }

  /** Returns the element of a handle for the app's own functions. Without it, the action itself fails, with the reason. */
  #element(ref: string | undefined): Element | undefined {
    try {
      return ref === undefined ? undefined : this.#run.driver.element?.(ref);
    } catch {
      return undefined;
    }
  }

  #handOver(): void {
    this.#run.handOver(this.#run.actions.reportIfDocumentEnds());
  }

  async #awaitChange(ms: number): Promise<StepEvent> {
    const waiting = (this.#waiting = new AbortController());
    if (this.#run.signal.aborted) waiting.abort();
    await this.#run.driver.change(ms, waiting.signal);
    this.#waiting = undefined;
    return { kind: "changed" };
  }

  /** Runs work that ends with the time limit of the action. */
  async #inTime(work: (signal: AbortSignal) => Promise<StepEvent>): Promise<StepEvent> {
    const { actions, driver } = this.#run;
    const end = new AbortController();
    const timer = new AbortController();
    const left = Math.max(0, actions.deadline() - this.#now());
    const timedOut = driver.wait(left, timer.signal).then((): StepEvent => ({ kind: "timedOut" }));
    try {
      return await Promise.race([work(end.signal), timedOut]);
    } finally {
      end.abort();
      timer.abort();
    }
  }
}

/** Returns the code and the text of an exception. */
function failureOf(error: unknown): { code: string; error: string } {
  if (error instanceof ActionError) return { code: error.code, error: error.message };
  const message = (error as Error | undefined)?.message ?? String(error);
  return { code: "ActionFailed", error: `it threw "${message}": look at the page for what happened` };
}

/** Calls a function of the app. An exception in it is not a failure of the action. */
function notify<Value>(listener: ((value: Value) => void) | undefined, value: Value): void {
  try {
    listener?.(value);
  } catch (error) {
    console.error(error);
  }
}

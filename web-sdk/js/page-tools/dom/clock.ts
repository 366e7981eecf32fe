/**
 * Waits that a hidden tab does not slow down: there, timers of the page take a second each, and animation frames never
 * fire. A Worker measures the time; if the page's policy forbids it, turns of a MessageChannel do.
 */

import { nextTask } from "../../mcp-web/next-task.ts";

const WORKER = "onmessage=({data:[id,due]})=>setTimeout(()=>postMessage(id),due-performance.timeOrigin-performance.now())";

/** Measures waits. It has a Worker from the first wait until {@link Clock.release}. */
export class Clock {
  #worker: Worker | undefined;
  #isForbidden = false;
  #waits = new Map<number, () => void>();
  #lastId = 0;

  /** Waits at least `ms`, or until the signal fires. @throws the signal's reason. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const due = performance.now() + ms;
    const isOver = await this.#sleepInWorker(due, signal);
    while (!isOver && performance.now() < due) {
      signal?.throwIfAborted();
      await nextTask();
    }
    signal?.throwIfAborted();
  }

  /** Waits until the page has no other pending work, at most `ms`. @throws the signal's reason. */
  async idle(ms: number, signal: AbortSignal): Promise<void> {
    const { scheduler } = globalThis as { scheduler?: { postTask?(task: () => void, options: object): Promise<void> } };
    if (typeof scheduler?.postTask !== "function") return nextTask();
    const end = new AbortController();
    const ended = AbortSignal.any([signal, end.signal]);
    try {
      await Promise.race([scheduler.postTask(() => {}, { priority: "background", signal: ended }), this.sleep(ms, ended)]);
    } finally {
      end.abort();
    }
  }

  /** Ends the Worker. Running waits continue without it. */
  release(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const resume of [...this.#waits.values()]) resume();
    this.#waits.clear();
  }

  /** Returns whether the Worker has measured the wait; if not, the caller must. */
  #sleepInWorker(due: number, signal?: AbortSignal): Promise<boolean> {
    const worker = this.#start();
    if (!worker) return Promise.resolve(false);
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const resume = () => {
        this.#waits.delete(id);
        signal?.removeEventListener("abort", resume);
        resolve(performance.now() >= due);
      };
      this.#waits.set(id, resume);
      signal?.addEventListener("abort", resume);
      worker.postMessage([id, performance.timeOrigin + due]);
    });
  }

  #start(): Worker | undefined {
    if (this.#worker || this.#isForbidden) return this.#worker;
    const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    try {
      const worker = new Worker(url);
      worker.onmessage = ({ data }) => this.#waits.get(data)?.();
      // A policy that forbids the Worker is reported by an event.
      worker.onerror = () => {
        this.#isForbidden = true;
        this.release();
      };
      this.#worker = worker;
    } catch {
      this.#isForbidden = true;
    } finally {
      URL.revokeObjectURL(url);
    }
    return this.#worker;
  }
}

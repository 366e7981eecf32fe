/** The test's own clocks and tasks, as they were before a test replaced them by fake ones. */

const { setTimeout, clearTimeout, performance, setImmediate } = globalThis as typeof globalThis & {
  setImmediate?: (task: () => void) => unknown;
};

/** Whether the test had replaced the clock before this module was there. Nothing would ever happen then. */
export const hasFakeClock: boolean = "clock" in setTimeout;

/** Runs a function in a task of its own, after those that were queued before. */
export const runInTask: (task: () => void) => void = setImmediate
  ? (task) => void setImmediate(task)
  : (task) => void setTimeout(task);

/** Waits until the tasks that are queued have run. */
export const nextTask = (): Promise<void> => new Promise((resolve) => runInTask(resolve));

/** Calls the listener of a test. What it throws is an error of the test, and not of what called it. */
export function callListener<Args extends unknown[]>(listener: ((...args: Args) => unknown) | undefined, ...args: Args): void {
  try {
    listener?.(...args);
  } catch (error) {
    runInTask(() => {
      throw error;
    });
  }
}

/** Returns milliseconds that only grow. */
export const now = (): number => performance.now();

/** Runs a function later, unless nothing else keeps the process running. Returns a function that prevents it. */
export function runLater(task: () => void, ms: number): () => void {
  // Timers are limited to 31 bits.
  const timer: any = setTimeout(task, Math.min(ms, 2 ** 31 - 1));
  timer?.unref?.();
  return () => clearTimeout(timer);
}

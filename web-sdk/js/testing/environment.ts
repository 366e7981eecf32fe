/** The real clocks and tasks, saved before a test replaces them by fake ones. */

const { setTimeout, clearTimeout, performance, setImmediate } = globalThis as typeof globalThis & {
  setImmediate?: (task: () => void) => unknown;
};

/** Whether the test replaced the clock before this module was loaded. In that case, nothing would ever happen. */
export const hasFakeClock: boolean = "clock" in setTimeout;

/** Runs a function in a separate task, after those already queued. */
export const runInTask: (task: () => void) => void = setImmediate
  ? (task) => void setImmediate(task)
  : (task) => void setTimeout(task);

/** Waits until the queued tasks have run. */
export const nextTask = (): Promise<void> => new Promise((resolve) => runInTask(resolve));

/** Calls a listener of the test. An exception in it is an error of the test, and not of the caller. */
export function callListener<Args extends unknown[]>(listener: ((...args: Args) => unknown) | undefined, ...args: Args): void {
  try {
    listener?.(...args);
  } catch (error) {
    runInTask(() => {
      throw error;
    });
  }
}

/** Returns monotonic milliseconds. */
export const now = (): number => performance.now();

/** Runs a function later, without keeping the process alive. Returns a function that cancels it. */
export function runLater(task: () => void, ms: number): () => void {
  // Timers are limited to 31 bits.
  const timer: any = setTimeout(task, Math.min(ms, 2 ** 31 - 1));
  timer?.unref?.();
  return () => clearTimeout(timer);
}

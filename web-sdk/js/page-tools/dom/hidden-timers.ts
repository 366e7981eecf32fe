/**
 * The timers of a hidden tab take a second each, and animation frames never fire. Components that use them would never
 * finish the effects of an action.
 */

import type { Clock } from "./clock.ts";
import type { View } from "./flat-tree.ts";
import { FRAME_MS, type HiddenActivity } from "./hidden-activity.ts";
import type { Patches } from "./patch.ts";

/** Longer timers are left to the browser. */
const MAX_MS = 5_000;

/** Makes timers fire on time, until the signal fires. Timers still pending then are left to the browser. */
export function hastenTimers(view: View, patches: Patches, clock: Clock, activity: HiddenActivity, signal: AbortSignal): void {
  /** The controllers that end the wait of each timer, by its number. */
  const waits = new Map<number, AbortController>();

  const cancel = (id: number | undefined) => {
    if (id === undefined) return;
    waits.get(id)?.abort();
    waits.delete(id);
  };

  /** Returns whether the time has passed, the timer was not cancelled, and the call has not ended. */
  const passes = async (id: number, ms: number): Promise<boolean> => {
    const cancelled = new AbortController();
    waits.set(id, cancelled);
    await clock.sleep(ms, AbortSignal.any([signal, cancelled.signal])).catch(() => {});
    return waits.get(id) === cancelled && !signal.aborted;
  };
  const once = async (id: number, ms: number, run: () => void) => {
    const isOfFrame = ms <= FRAME_MS;
    activity.timers += 1;
    if (isOfFrame) activity.frameTimers += 1;
    const isDue = await passes(id, ms);
    activity.timers -= 1;
    if (isOfFrame) activity.frameTimers -= 1;
    if (!isDue) return;
    if (isOfFrame) activity.happened();
    // An exception in it is reported as an error of the page.
    queueMicrotask(run);
  };
  const again = async (id: number, ms: number, run: () => void) => {
    while (await passes(id, ms)) queueMicrotask(run);
  };

  const { clearTimeout: clearNative, cancelAnimationFrame: cancelNative } = view;
  patches.replace(view, "setTimeout", (original) => ((handler: TimerHandler, ms?: number, ...args: unknown[]) => {
    if (typeof handler !== "function" || !(Number(ms ?? 0) <= MAX_MS)) return Reflect.apply(original, view, [handler, ms, ...args]);
    const run = () => {
      cancel(id);
      clearNative.call(view, id);
      Reflect.apply(handler, view, args);
    };
    const id: number = Reflect.apply(original, view, [run, ms]);
    void once(id, Math.max(1, Number(ms ?? 0)), run);
    return id;
  }) as typeof original);
  patches.replace(view, "setInterval", (original) => ((handler: TimerHandler, ms?: number, ...args: unknown[]) => {
    if (typeof handler !== "function" || !(Number(ms ?? 0) <= MAX_MS)) return Reflect.apply(original, view, [handler, ms, ...args]);
    const tick = () => Reflect.apply(handler, view, args);
    // The browser's own ticks are used after the call has ended.
    const id: number = Reflect.apply(original, view, [() => signal.aborted && tick(), ms]);
    void again(id, Math.max(4, Number(ms ?? 0)), tick);
    return id;
  }) as typeof original);
  patches.replace(view, "requestAnimationFrame", (original) => (callback) => {
    const run = () => {
      cancel(-id);
      cancelNative.call(view, id);
      callback(view.performance.now());
    };
    const id: number = Reflect.apply(original, view, [run]);
    void once(-id, FRAME_MS, run);
    return id;
  });
  for (const name of ["clearTimeout", "clearInterval"] as const) {
    patches.replace(view, name, (original) => (id) => {
      cancel(id);
      Reflect.apply(original, view, [id]);
    });
  }
  patches.replace(view, "cancelAnimationFrame", (original) => (id) => {
    cancel(-id);
    Reflect.apply(original, view, [id]);
  });
}

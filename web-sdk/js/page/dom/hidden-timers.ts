/**
 * The timers of a tab that is not shown take a second each, and animation frames never come: components that use them would
 * never finish what an action begins. During a call, those that the page starts come in time.
 */

import type { Clock } from "./clock.ts";
import type { View } from "./flat-tree.ts";
import { Patches } from "./patch.ts";

/** Timers that take longer are left to the browser. */
const MAX_MS = 5_000;
/** How often animations are looked at. */
const ANIMATION_LOOK_MS = 16;
/** What an animation frame takes in a tab that is shown. */
const FRAME_MS = 16;

/** Makes timers come in time, until {@link HiddenTimers.restore}. What has not come by then is left to the browser. */
export class HiddenTimers {
  readonly #clock: Clock;
  readonly #patches = new Patches();
  readonly #views = new Set<View>();
  #end = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces the timers of windows that are not shown, unless they are replaced already. */
  install(views: Iterable<View>): void {
    for (const view of views) {
      if (!view.document.hidden || this.#views.has(view)) continue;
      this.#views.add(view);
      hastenTimers(view, this.#patches, this.#clock, this.#end.signal);
      finishAnimations(view, this.#clock, this.#end.signal).catch(() => {});
    }
  }

  restore(): void {
    if (!this.#views.size) return;
    this.#views.clear();
    this.#end.abort();
    this.#end = new AbortController();
    this.#patches.restore();
  }
}

/** Ends animations and transitions, which stand still in a tab that is not shown: elements would stay where they began. */
async function finishAnimations(view: View, clock: Clock, signal: AbortSignal): Promise<never> {
  for (;;) {
    await clock.sleep(ANIMATION_LOOK_MS, signal);
    for (const animation of view.document.getAnimations?.() ?? []) {
      const { endTime } = animation.effect?.getComputedTiming() ?? {};
      if (animation.playState === "running" && Number(endTime) < Infinity) animation.finish();
    }
  }
}

function hastenTimers(view: View, patches: Patches, clock: Clock, signal: AbortSignal): void {
  /** What ends the wait for each timer, by its number. */
  const waits = new Map<number, AbortController>();

  const cancel = (id: number | undefined) => {
    if (id === undefined) return;
    waits.get(id)?.abort();
    waits.delete(id);
  };

  /** Calls `run` after a time, unless the timer is cancelled or the call has ended. */
  const schedule = (id: number, ms: number, run: () => void) => {
    const cancelled = new AbortController();
    waits.set(id, cancelled);
    clock.sleep(ms, AbortSignal.any([signal, cancelled.signal])).then(
      () => waits.get(id) === cancelled && run(),
      () => {},
    );
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
    schedule(id, Math.max(1, Number(ms ?? 0)), run);
    return id;
  }) as typeof original);
  patches.replace(view, "setInterval", (original) => ((handler: TimerHandler, ms?: number, ...args: unknown[]) => {
    if (typeof handler !== "function" || !(Number(ms ?? 0) <= MAX_MS)) return Reflect.apply(original, view, [handler, ms, ...args]);
    const tick = () => {
      schedule(id, Math.max(4, Number(ms ?? 0)), tick);
      Reflect.apply(handler, view, args);
    };
    // The browser's own ticks count when the call has ended.
    const id: number = Reflect.apply(original, view, [() => signal.aborted && Reflect.apply(handler, view, args), ms]);
    schedule(id, Math.max(4, Number(ms ?? 0)), tick);
    return id;
  }) as typeof original);
  patches.replace(view, "requestAnimationFrame", (original) => (callback) => {
    const run = () => {
      cancel(-id);
      cancelNative.call(view, id);
      callback(view.performance.now());
    };
    const id: number = Reflect.apply(original, view, [run]);
    schedule(-id, FRAME_MS, run);
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

/**
 * Provides what the browser withholds from a hidden tab, which is the normal case: the user looks at the AI client. During
 * a call, and for a short time after it, timers fire on time, and work that belongs to rendering is done.
 */

import { read } from "../../dom/native.ts";
import type { Clock } from "./clock.ts";
import type { View } from "./flat-tree.ts";
import { FRAME_MS, HiddenActivity } from "./hidden-activity.ts";
import { endingAnimations, followRendering } from "./hidden-rendering.ts";
import { hastenTimers } from "./hidden-timers.ts";
import { Patches } from "./patch.ts";

/** How long timers and animations may still run on time after a call, for example those of a closing menu. */
const MAX_AFTER_CALL_MS = 1_000;

/** Supports hidden windows, until {@link HiddenTab.restore}. */
export class HiddenTab {
  readonly #clock: Clock;
  readonly #patches = new Patches();
  readonly #views = new Set<View>();
  /** The activity in the windows. */
  readonly activity = new HiddenActivity();
  #end = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces functions of hidden windows, unless they are already replaced. */
  install(views: Iterable<View>): void {
    for (const view of views) {
      if (!read(view.document, "hidden") || this.#views.has(view)) continue;
      this.#views.add(view);
      this.activity.renderedAt = 0;
      hastenTimers(view, this.#patches, this.#clock, this.activity, this.#end.signal);
      followRendering(view, this.#patches, this.#clock, this.activity, this.#end.signal).catch(() => {});
    }
  }

  /**
   * Waits until no animation is running and no one-time timer is pending, at most {@link MAX_AFTER_CALL_MS}. Returns
   * undefined if there is none.
   */
  finish(): Promise<void> | undefined {
    return this.#isBusy() ? this.#waitUntilIdle() : undefined;
  }

  #isBusy(): boolean {
    return this.activity.timers > 0 || [...this.#views].some((view) => endingAnimations(view).length > 0);
  }

  async #waitUntilIdle(): Promise<void> {
    const due = performance.now() + MAX_AFTER_CALL_MS;
    while (this.#isBusy() && performance.now() < due) await this.#clock.sleep(FRAME_MS);
  }

  restore(): void {
    if (!this.#views.size) return;
    this.#views.clear();
    this.#end.abort();
    this.#end = new AbortController();
    this.#patches.restore();
    this.activity.renderedAt = Infinity;
  }
}

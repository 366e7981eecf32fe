/**
 * What the browser withholds from a tab that is not shown, which is the normal case: the user looks at the AI client. During a
 * call, and for a moment after it, timers come in time, and what comes with rendering is done.
 */

import { read } from "../../dom/native.ts";
import type { Clock } from "./clock.ts";
import type { View } from "./flat-tree.ts";
import { FRAME_MS, HiddenActivity } from "./hidden-activity.ts";
import { endingAnimations, followRendering } from "./hidden-rendering.ts";
import { hastenTimers } from "./hidden-timers.ts";
import { Patches } from "./patch.ts";

/** How long timers and animations may still end in time when a call has ended, such as those of a menu which closes. */
const MAX_AFTER_CALL_MS = 1_000;

/** Helps windows that are not shown, until {@link HiddenTab.restore}. */
export class HiddenTab {
  readonly #clock: Clock;
  readonly #patches = new Patches();
  readonly #views = new Set<View>();
  /** What happens in the windows. */
  readonly activity = new HiddenActivity();
  #end = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces functions of windows that are not shown, unless they are replaced already. */
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
   * Waits until no animation is running, and no timer is left that comes only once, at most {@link MAX_AFTER_CALL_MS}.
   * Returns undefined if there is none.
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

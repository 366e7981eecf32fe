/**
 * What the browser withholds from a tab that is not shown, which is the normal case: the user looks at the AI client. During a
 * call, and for a moment after it, timers come in time, and what comes with rendering is done.
 */

import type { Clock } from "./clock.ts";
import type { View } from "./flat-tree.ts";
import { followRendering } from "./hidden-rendering.ts";
import { FRAME_MS, Pending, hastenTimers } from "./hidden-timers.ts";
import { Patches } from "./patch.ts";

/** How long timers may still come in time when a call has ended, such as the one that takes away a menu which closes. */
const MAX_AFTER_CALL_MS = 1_000;

/** Helps windows that are not shown, until {@link HiddenTab.restore}. */
export class HiddenTab {
  readonly #clock: Clock;
  readonly #patches = new Patches();
  readonly #views = new Set<View>();
  readonly #pending = new Pending();
  #end = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces functions of windows that are not shown, unless they are replaced already. */
  install(views: Iterable<View>): void {
    for (const view of views) {
      if (!view.document.hidden || this.#views.has(view)) continue;
      this.#views.add(view);
      hastenTimers(view, this.#patches, this.#clock, this.#pending, this.#end.signal);
      followRendering(view, this.#patches, this.#clock, this.#end.signal).catch(() => {});
    }
  }

  /** Waits until no timer is left that comes only once, at most {@link MAX_AFTER_CALL_MS}. Returns undefined if there is none. */
  finish(): Promise<void> | undefined {
    return this.#pending.size ? this.#waitForPending() : undefined;
  }

  async #waitForPending(): Promise<void> {
    const due = performance.now() + MAX_AFTER_CALL_MS;
    while (this.#pending.size && performance.now() < due) await this.#clock.sleep(FRAME_MS);
  }

  restore(): void {
    if (!this.#views.size) return;
    this.#views.clear();
    this.#end.abort();
    this.#end = new AbortController();
    this.#patches.restore();
  }
}

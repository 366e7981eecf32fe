/** Activity in hidden windows, which replaces the browser's frames. */

/** Duration of an animation frame in a visible tab. */
export const FRAME_MS = 16;
/** Maximum number of frames of an action that count as activity, because a page may draw without end. */
const MAX_FRAMES = 12;

export class HiddenActivity {
  /** The number of pending one-time timers. */
  timers = 0;
  /** The number of them that are due within a frame. */
  frameTimers = 0;
  /** The time of the latest event that a visible window would have had with its next frame. */
  lastAt = 0;
  /** The time of the latest work that belongs to rendering; infinity if no window is hidden. */
  renderedAt = Infinity;
  #frames = 0;
  #frameAt = 0;

  /** Restarts the count of frames. */
  begin(): void {
    this.#frames = 0;
  }

  happened(): void {
    const now = performance.now();
    if (now >= this.#frameAt + FRAME_MS / 2) {
      this.#frames += 1;
      this.#frameAt = now;
    }
    if (this.#frames <= MAX_FRAMES) this.lastAt = now;
  }

  /** Whether an event is expected with the next frame. It may be late: a busy machine measures 16 ms as 100. */
  get isAwaitingFrame(): boolean {
    return this.frameTimers > 0 && this.#frames < MAX_FRAMES;
  }
}

/** What happens in windows that are not shown, in the place of the browser's frames. */

/** What an animation frame takes in a tab that is shown. */
export const FRAME_MS = 16;
/** So many frames of an action count as activity of the page: a page may draw without end. */
const MAX_FRAMES = 12;

export class HiddenActivity {
  /** How many timers are to come that come only once. */
  timers = 0;
  /** How many of them come within a frame. */
  frameTimers = 0;
  /** When something has happened last that a shown window would have had with its next frame. */
  lastAt = 0;
  /** When what comes with rendering was done last; infinity if no window is hidden. */
  renderedAt = Infinity;
  #frames = 0;
  #frameAt = 0;

  /** Counts frames anew. */
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

  /** Whether something is to come with a frame. It may be late: a busy machine measures 16 ms as 100. */
  get isAwaitingFrame(): boolean {
    return this.frameTimers > 0 && this.#frames < MAX_FRAMES;
  }
}

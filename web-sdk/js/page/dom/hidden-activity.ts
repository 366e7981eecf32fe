/** What happens in windows that are not shown, in the place of the browser's frames. */

export class HiddenActivity {
  /** How many timers are to come that come only once. */
  timers = 0;
  /** When something has happened last that a shown window would have had with its next frame. */
  lastAt = 0;
  /** When what comes with rendering was done last; infinity if no window is hidden. */
  renderedAt = Infinity;

  happened(): void {
    this.lastAt = performance.now();
  }
}

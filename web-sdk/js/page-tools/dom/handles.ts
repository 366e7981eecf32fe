/**
 * Handles of elements, such as `e12`. A number is never reused in the life of a tab, so that stale handles are recognised.
 */

import { isInPage } from "./flat-tree.ts";

/** The storage key of the highest number of the tab. */
const STORAGE_KEY = "mcp-web.page-handles";
/** The start of the numbers in a tab without storage, whose documents do not know each other's numbers. */
const EPOCH = Date.UTC(2026, 0, 1);
const MS_PER_NUMBER = 10;

export class Handles {
  readonly #max: number;
  #highest = 0;
  #numbers = new WeakMap<Element, number>();
  /** By number, the least recently used first. */
  #elements = new Map<number, WeakRef<Element>>();
  /** Roots of the page, dialogs and frames, which are evicted last. */
  #pinned = new Map<number, WeakRef<Element>>();

  constructor(max: number) {
    this.#max = max;
    this.#readHighest();
    if (!this.#writeHighest()) this.#highest = Math.max(this.#highest, Math.floor((Date.now() - EPOCH) / MS_PER_NUMBER));
  }

  /** The number of elements with a handle. */
  get size(): number {
    return this.#elements.size + this.#pinned.size;
  }

  /**
   * Runs a function that assigns handles, and stores the highest number afterwards. The number is read before, because a
   * frame of the same origin may have assigned some meanwhile.
   */
  batch<Result>(run: () => Result): Result {
    this.#readHighest();
    try {
      return run();
    } finally {
      this.#writeHighest();
    }
  }

  /** Returns the handle of an element, and assigns one if it has none. Call this only inside {@link Handles.batch}. */
  assign(element: Element, isPinned = false): string {
    const known = this.#numbers.get(element);
    const number = known ?? ++this.#highest;
    const place = isPinned ? this.#pinned : this.#elements;
    const reference = this.#elements.get(number) ?? this.#pinned.get(number) ?? new WeakRef(element);
    this.#remove(number);
    place.set(number, reference);
    this.#numbers.set(element, number);
    if (this.size > this.#max) this.#evict();
    return `e${number}`;
  }

  /** Returns the handle of an element, if it has one. */
  find(element: Element): string | undefined {
    const number = this.#numbers.get(element);
    return number === undefined ? undefined : `e${number}`;
  }

  /** Returns the element of a handle, or whether the handle is stale or never existed. */
  use(ref: string): Element | "stale" | "unknown" {
    const digits = /^e([1-9]\d{0,14})$/.exec(ref)?.[1];
    if (!digits) return "unknown";
    const number = Number(digits);
    const place = this.#pinned.has(number) ? this.#pinned : this.#elements;
    const reference = place.get(number);
    const element = reference?.deref();
    if (!reference || !element) {
      this.#remove(number);
      this.#readHighest();
      return number <= this.#highest ? "stale" : "unknown";
    }
    place.delete(number);
    place.set(number, reference);
    return isInPage(element) ? element : "stale";
  }

  #evict(): void {
    const place = this.#elements.size ? this.#elements : this.#pinned;
    const [oldest] = place;
    if (!oldest) return;
    const [number, reference] = oldest;
    this.#remove(number);
    const element = reference.deref();
    if (element) this.#numbers.delete(element);
  }

  #remove(number: number): void {
    this.#elements.delete(number);
    this.#pinned.delete(number);
  }

  #readHighest(): void {
    try {
      const stored = Number(sessionStorage.getItem(STORAGE_KEY));
      if (Number.isSafeInteger(stored)) this.#highest = Math.max(this.#highest, stored);
    } catch {
      // The page has no storage.
    }
  }

  #writeHighest(): boolean {
    try {
      sessionStorage.setItem(STORAGE_KEY, String(this.#highest));
      return true;
    } catch {
      return false;
    }
  }
}

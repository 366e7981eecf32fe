/** Options of the DOM driver. */

/** A page of the app. */
export interface AppPage {
  pageId: string;
  title: string;
  /** Its address; one of the same origin. */
  url?: string;
}

/** What an app tells the DOM driver of itself. Everything has a default. */
export interface DomDriverOptions {
  /** The element that is seen and used, or a function that returns it: nothing outside is. Default: `document.body`. */
  root?: Element | (() => Element | null);
  /** The pages of the app. Default: the links of the page that lead to the same origin, 100 at most. */
  pages?: readonly AppPage[] | (() => readonly AppPage[] | Promise<readonly AppPage[]>);
  /**
   * Opens a page with the app's router, and resolves when it is open. Default: a click on a link to the page's URL, if there
   * is one, else the browser goes to the URL.
   */
  navigate?: (pageId: string, input: object | undefined) => unknown;
  /** Returns the state of the page as JSON. Default: the values of its fields, without passwords. */
  state?: () => unknown;
  /** Sets one value of the state. Without it, the action `setState` fails with `ActionUnsupported`. */
  setState?: (key: string, value: unknown) => unknown;
  /** Returns what is the same on all pages as JSON. Default: `{}`. */
  global?: () => unknown;
  /** Sets one value of what is the same on all pages. Without it, the action `setGlobal` fails with `ActionUnsupported`. */
  setGlobal?: (key: string, value: unknown) => unknown;
  limits?: DomDriverLimits;
}

/** How much the DOM driver keeps and returns. */
export interface DomDriverLimits {
  /** Elements that have a handle. Default: 10,000; at most 100,000. */
  maxHandles?: number;
  /** Bytes of one value of the state. Default: 4,096; at most 65,536. */
  maxValueBytes?: number;
}

/** The limits with their defaults. */
export type Limits = Required<DomDriverLimits>;

const LIMITS: Record<keyof Limits, { default: number; most: number }> = {
  maxHandles: { default: 10_000, most: 100_000 },
  maxValueBytes: { default: 4_096, most: 65_536 },
};

/** Returns the limits, and checks those that are given. @throws RangeError naming the limit and its range. */
export function readLimits(given: DomDriverLimits = {}): Limits {
  const limits = {} as Limits;
  for (const [name, range] of Object.entries(LIMITS) as [keyof Limits, { default: number; most: number }][]) {
    const value = given[name] ?? range.default;
    if (!Number.isInteger(value) || value < 1 || value > range.most) throw new RangeError(`limits.${name} is ${value}: give a whole number from 1 to ${range.most}`);
    limits[name] = value;
  }
  return limits;
}

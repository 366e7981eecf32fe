/** The options of page tools. */

import type { WasmInput } from "../types/options.ts";

/** A page of the app, as `get_pages` lists it. */
export interface AppPage {
  /** What `navigate` is called with. */
  pageId: string;
  /** A name for people. */
  title: string;
  /** Its address: opened where there is no {@link PageToolsOptions.navigate}. */
  url?: string;
}

/** What an action is about to be done to. */
export interface ActionFacts {
  /** The element, if there is one. */
  element?: Element;
  /** The element in words, such as `button "Save"`. */
  label?: string;
  /**
   * The target of the action, where the element is not it but used with it: the button that Enter in a field presses, the
   * control of a label, what a click in the middle of the target hits, what something is dragged to.
   */
  target?: { element: Element; label: string };
}

/** What was done to an element. */
export interface DoneAction {
  /** The type of the action, such as `setValue`. */
  type: string;
  /** The element, if the action had a target. */
  element?: Element;
}

/** What a page gives as a picture of itself. */
export type Capture = HTMLCanvasElement | OffscreenCanvas | Blob | ImageBitmap | ImageData;

/** How AI clients may use the page. */
export interface PageToolsOptions {
  /**
   * The part of the page that AI clients see and act on. A function is called for each look and each action. Where it returns
   * nothing, or an element that is not in the page, nothing of the page is seen or used: neither its title and address, nor
   * {@link PageToolsOptions.pages}, {@link PageToolsOptions.state} and {@link PageToolsOptions.global}, and `navigate` is refused.
   *
   * Where it is a part of the page, its title and address are still shown, and `navigate` still opens any address of the
   * page's origin, unless {@link PageToolsOptions.pages} or {@link PageToolsOptions.navigate} say otherwise.
   *
   * @defaultValue `document.body`
   */
  root?: Element | (() => Element | null | undefined);
  /**
   * The pages of the app.
   *
   * @defaultValue The links of the page to its own origin, at most 100.
   */
  pages?: readonly AppPage[] | (() => readonly AppPage[] | Promise<readonly AppPage[]>);
  /**
   * Opens a page of the app, with the app's router.
   *
   * @defaultValue A click on a link to that address if the page has one, and otherwise `location.assign()`.
   */
  navigate?(pageId: string, input: object | undefined): unknown;
  /**
   * Returns the app's state, for `get_state`.
   *
   * @defaultValue The values of the fields that a person sees, `(hidden)` for secrets. A field that is not shown, such as one of
   * `type="hidden"`, is part of it if it has the attribute `data-mcp-public`.
   */
  state?(): unknown;
  /** Sets a part of the app's state, for the action `setState`. Without it, the action is not supported. */
  setState?(key: string, value: unknown): unknown;
  /** Returns the app's global state, for `get_state`. */
  global?(): unknown;
  /** Sets a part of the global state, for the action `setGlobal`. Without it, the action is not supported. */
  setGlobal?(key: string, value: unknown): unknown;
  /**
   * Returns a picture of the page, or of an element of it. With it, there is the tool `page_screenshot`. A page cannot
   * photograph itself: an app that draws on a canvas can give that.
   */
  capture?(element: Element | undefined): Capture | Promise<Capture>;
  /**
   * Decides before each action whether it may be done: `false`, or a rejected promise, makes it fail with `Declined`. It is
   * called for the target, and then for each other element that the action uses. The action is as the client has sent it.
   */
  confirm?(action: { readonly type: string }, facts: ActionFacts): boolean | void | Promise<boolean | void>;
  /** Is told of each action that was done, for example to show where. */
  onAction?(done: DoneAction): void;
  /**
   * Whether AI clients may only look.
   *
   * @defaultValue `false`
   */
  readOnly?: boolean;
  /**
   * How the text of the page is written if a call does not say.
   *
   * @defaultValue `"outline"`
   */
  format?: "outline" | "markdown";
  /**
   * What the names of the tools begin with.
   *
   * @defaultValue `""`
   */
  prefix?: string;
  /**
   * Whether agents of the browser can use the tools, too (WebMCP).
   *
   * @defaultValue `false`
   */
  webmcp?: boolean;
  /** How much a call may do, and how large its text is. */
  limits?: Partial<PageToolsLimits>;
  /** The wasm of page tools (`mcp-web-sdk/mcp_web_page_bg.wasm`), as the option `wasm` of `new McpWeb()`. */
  wasm?: WasmInput | PromiseLike<WasmInput>;
}

/** How much a call may do, and how large its text is. */
export interface PageToolsLimits {
  /** The actions of a call, at most 1000. @defaultValue 100 */
  maxActionsPerCall: number;
  /** The milliseconds of an action, from 1 to 3,600,000. @defaultValue 30,000 */
  actionTimeoutMs: number;
  /** The milliseconds of all actions of a call, from 1 to 3,600,000. @defaultValue 120,000 */
  callTimeoutMs: number;
  /** The elements of a text, at most 1000. @defaultValue 200 */
  maxElements: number;
  /** The handles of a document, at most 100,000. @defaultValue 10,000 */
  maxHandles: number;
  /** The bytes of a value, at most 65,536. @defaultValue 4096 */
  maxValueBytes: number;
  /** The bytes of a text, from 1024 to 1,048,576. @defaultValue 65,536 */
  maxPageBytes: number;
}

/** Each limit: its default, the least and the most. */
const LIMITS: { [Name in keyof PageToolsLimits]: [number, number, number] } = {
  maxActionsPerCall: [100, 1, 1000],
  actionTimeoutMs: [30_000, 1, 3_600_000],
  callTimeoutMs: [120_000, 1, 3_600_000],
  maxElements: [200, 1, 1000],
  maxHandles: [10_000, 1, 100_000],
  maxValueBytes: [4096, 1, 65_536],
  maxPageBytes: [65_536, 1024, 1_048_576],
};

/**
 * Returns all limits.
 *
 * @throws RangeError when a limit is not a whole number in its range, and TypeError when there is no such limit.
 */
export function completeLimits(limits: Partial<PageToolsLimits> = {}): PageToolsLimits {
  for (const name of Object.keys(limits)) {
    if (!(name in LIMITS)) throw new TypeError(`enablePageTools(): there is no limit "${name}": ${Object.keys(LIMITS).join(", ")}`);
  }
  const complete = Object.entries(LIMITS).map(([name, [standard, least, most]]) => {
    const value = limits[name as keyof PageToolsLimits] ?? standard;
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new RangeError(`enablePageTools(): limits.${name} must be a whole number from ${least} to ${most}`);
    }
    return [name, value];
  });
  return Object.fromEntries(complete);
}

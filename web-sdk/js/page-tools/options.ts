/** The options of page tools. */

import type { WasmInput } from "../types/options.ts";

/** A page of the app, in the list of `get_pages`. */
export interface AppPage {
  /** The id that `navigate` opens it by. */
  pageId: string;
  /** A name for people. */
  title: string;
  /** Its address: opened if there is no {@link PageToolsOptions.navigate}. */
  url?: string;
}

/** The element that an action is about to use. */
export interface ActionFacts {
  /** The element, if there is one. */
  element?: Element;
  /** The description of the element, such as `button "Save"`. */
  label?: string;
  /**
   * The target of the action, if the element is another one that is used with it: the button that Enter in a field presses,
   * the control of a label, the element hit by a click at the centre of the target, the drop target of a drag.
   */
  target?: { element: Element; label: string };
}

/** An action that was performed on an element. */
export interface DoneAction {
  /** The type of the action, such as `setValue`. */
  type: string;
  /** The element, if the action had a target. */
  element?: Element;
}

/** The types of pictures that a page can provide of itself. */
export type Capture = HTMLCanvasElement | OffscreenCanvas | Blob | ImageBitmap | ImageData;

/** How AI clients may use the page. */
export interface PageToolsOptions {
  /**
   * The part of the page that AI clients see and act on. A function is called for each look and each action. If it returns
   * nothing, or an element that is not in the page, no part of the page is seen or used: neither its title and address, nor
   * {@link PageToolsOptions.pages}, {@link PageToolsOptions.state} and {@link PageToolsOptions.global}, and `navigate` is
   * rejected.
   *
   * If it is a part of the page, its title and address are still shown, and `navigate` still opens any address of the
   * page's origin, unless {@link PageToolsOptions.pages} or {@link PageToolsOptions.navigate} are set.
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
   * @defaultValue The values of the fields that a person sees, `(hidden)` for secrets. A hidden field, such as one of
   * `type="hidden"`, is included if it has the attribute `data-mcp-public`.
   */
  state?(): unknown;
  /** Sets a part of the app's state, for the action `setState`. Without it, the action is not supported. */
  setState?(key: string, value: unknown): unknown;
  /** Returns the app's global state, for `get_state`. */
  global?(): unknown;
  /** Sets a part of the global state, for the action `setGlobal`. Without it, the action is not supported. */
  setGlobal?(key: string, value: unknown): unknown;
  /**
   * Returns a picture of the page, or of an element. If it is set, the tool `page_screenshot` is offered. A page cannot
   * take a screenshot of itself, but an app that draws on a canvas can provide it.
   */
  capture?(element: Element | undefined): Capture | Promise<Capture>;
  /**
   * Decides before each action whether it is allowed: `false`, or a rejected promise, makes it fail with `Declined`. It is
   * called for the target, and then for each other element that the action uses. The action is passed as the client sent
   * it.
   */
  confirm?(action: { readonly type: string }, facts: ActionFacts): boolean | void | Promise<boolean | void>;
  /** Called after each action, for example to show where it happened. */
  onAction?(done: DoneAction): void;
  /**
   * Whether AI clients may look but not act.
   *
   * @defaultValue `false`
   */
  readOnly?: boolean;
  /**
   * The default format of the page's text.
   *
   * @defaultValue `"outline"`
   */
  format?: "outline" | "markdown";
  /**
   * A prefix for the names of the tools.
   *
   * @defaultValue `""`
   */
  prefix?: string;
  /**
   * Whether agents of the browser can also use the tools (WebMCP).
   *
   * @defaultValue `false`
   */
  webmcp?: boolean;
  /** The limits of a call and of its text. */
  limits?: Partial<PageToolsLimits>;
  /** The wasm of page tools (`mcp-web-sdk/mcp_web_page_bg.wasm`), like the option `wasm` of `new McpWeb()`. */
  wasm?: WasmInput | PromiseLike<WasmInput>;
}

/** The limits of a call and of its text. */
export interface PageToolsLimits {
  /** Maximum number of actions of a call, up to 1000. @defaultValue 100 */
  maxActionsPerCall: number;
  /** Time limit of an action in milliseconds, from 1 to 3,600,000. @defaultValue 30,000 */
  actionTimeoutMs: number;
  /** Time limit of all actions of a call in milliseconds, from 1 to 3,600,000. @defaultValue 120,000 */
  callTimeoutMs: number;
  /** Maximum number of elements in a text, up to 1000. @defaultValue 200 */
  maxElements: number;
  /** Maximum number of handles in a document, up to 100,000. @defaultValue 10,000 */
  maxHandles: number;
  /** Maximum size of a value in bytes, up to 65,536. @defaultValue 4096 */
  maxValueBytes: number;
  /** Maximum size of a text in bytes, from 1024 to 1,048,576. @defaultValue 65,536 */
  maxPageBytes: number;
}

/** For each limit: its default, the minimum and the maximum. */
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
 * @throws RangeError if a limit is not a whole number in its range, and TypeError if a limit is unknown.
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

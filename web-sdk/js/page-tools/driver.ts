/**
 * The interface between page tools and a user interface. The DOM driver (`page-tools/dom`) implements it. The crate `page-tools`
 * has the rules of actions, the texts and the handles, and decides the next step of a driver.
 */

import type { Action } from "./actions.ts";

/** One element of the user interface, or a text, with its children. */
export interface PageNode {
  /** An ARIA role; `text` for a text, `private` for hidden content, `generic` for an element without a role. */
  role: string;
  /** The accessible name. */
  name?: string;
  /** The handle, such as `e12`: only on elements that can be acted on, that scroll, or that `within` can refer to. */
  ref?: string;
  /** Whether it has a handle only because of {@link TreeOptions.everyText}. */
  isOnlyText?: boolean;
  /** The text of a node whose role is `text`. */
  text?: string;
  /** The value of a control; several with a multiple selection. `(hidden)` for a secret that is not empty. */
  value?: string | string[];
  /** The choices of a control, if the page has them. */
  options?: { value: string; label: string }[];
  /**
   * Any of `required readonly disabled checked mixed selected pressed expanded collapsed focused foreign`, in any order.
   */
  states?: string[];
  /** The level of a heading or of an item of a tree. */
  level?: number;
  /** Why the value is invalid. */
  error?: string;
  /** The accessible description. */
  description?: string;
  /** The address of a link, as written in the page. */
  url?: string;
  /** The rows of a table or grid: the number shown and the total number. */
  rows?: { shown: number; total: number };
  /** Events that the role does not imply: `onClick` of a `generic` that can be clicked. */
  events?: string[];
  /** The driver's own type of the element, such as a Lowdefy block type: shown as `type`. */
  type?: string;
  /** How the element is written as markdown, if its role does not determine it. */
  category?: "input" | "display" | "container" | "list";
  /** The app's own id of the element: for `page_query`, not shown. */
  id?: string;
  /** Its test id (`data-testid`): for `find` and `page_query`, not shown. */
  testId?: string;
  /** The children. */
  children?: PageNode[];
}

/** The user interface at one moment. */
export interface PageTree {
  /** The outermost element. If it is a `generic`, it is not shown itself. */
  root: PageNode;
  /** The number of elements: nodes whose role is not `text`, including those beyond the limit. */
  elements: number;
  /** The number of them in `root`. */
  shown: number;
}

/** The part of the user interface to look at. */
export interface TreeOptions {
  /** The handle of the element whose content is wanted. */
  within?: string | undefined;
  /** Maximum number of elements with names and values; elements beyond it are only counted. */
  limit: number;
  /** Whether only elements with a handle and their ancestors are wanted. */
  interactive?: boolean;
  /** Whether all elements with a text have a handle: the target of an action may be a text that is not a control. */
  everyText?: boolean;
}

/** The facts about the target of an action, immediately before it. */
export interface TargetFacts {
  /** The element as the page's text describes it, such as `button "Save"`: cut and cleaned by the core. */
  label: string;
  /** Why it is disabled, if so, in the words of the page. */
  disabled?: "disabled" | "aria-disabled" | "fieldset" | "inert" | "pointer-events: none";
  /** Its value can be read but not changed. */
  readOnly?: boolean;
  /** It is hidden, or has an empty box. */
  hidden?: boolean;
  /** The element that covers its centre, as the page's text describes it. */
  coveredBy?: string;
  /** It is in an element with `data-mcp-private`, or setting a value would replace such an element. */
  private?: boolean;
  /** It is outside of the option `root`. */
  outside?: boolean;
  /** Its value can be set: an input, a select, a switch, an editable element. */
  editable?: boolean;
}

/**
 * An element that an action uses besides its target: the button that Enter in a field presses, the link to the page to
 * open, the drop target of a drag.
 */
export interface Activated {
  /** The element itself. */
  element: Element;
  /** The description of the element, such as `button "Send"`. */
  label: string;
}

/** The outcome of an action. */
export interface ActionOutcome {
  /** The action code of its failure; absent if it succeeded. */
  code?: string;
  /** The description of a failure with advice; absent if the core has a text for the code. */
  error?: string;
  /** The handles of the changed elements, at most 10: only of elements that have one. */
  changed?: string[];
  /** The address that the page navigated to, if any. */
  navigated?: string;
  /** The dialogs of the browser that it opened, as `confirm "Sure?" false`. */
  dialog?: string;
  /** The texts that the page announced to its user. */
  messages?: { status: string; content: string }[];
  /** Console errors, unhandled rejections, failed requests, and work that did not end: at most 10. */
  warnings?: string[];
}

/** The value that was set and the current value of the page. */
export interface ReadBack {
  /** The value that was set, as a text. */
  expected: string;
  /** The current value of the page, as a text. */
  actual: string;
  /** Whether they are the same value. */
  matches: boolean;
}

/** The result of `get_state`. */
export interface PageState {
  /** The open page, if the app shows any part of it. */
  pageId?: string;
  /** The state of the page. */
  state: unknown;
  /** The state that all pages share. */
  global: unknown;
  /** The latest responses to requests, if the app knows them. */
  requests: unknown;
  /** Whether data was left out because the state is too large. */
  truncated?: boolean;
}

/** A failure with an action code. */
export class ActionError extends Error {
  /** One of the action codes. */
  readonly code: string;

  /** Takes a code, and a description with advice. */
  constructor(code: string, message: string) {
    super(message);
    this.name = "ActionError";
    this.code = code;
  }
}

/** A user interface. Every wait ends with its signal, and does not need a timer of the page. */
export interface PageDriver {
  /** The address of the document, for a driver whose calls are handed over to the next document. */
  place?(): string;
  /** The open page. Nothing is known of it if the app hides the page completely. */
  page(): { pageId?: string; url?: string; title?: string };
  /**
   * Returns the tree of the page: of a large one in parts, between which the page can run.
   *
   * @throws ActionError with `TargetStale` if `within` no longer exists.
   */
  tree(options: TreeOptions): PageTree | Promise<PageTree>;
  /**
   * Returns the facts about a target after scrolling it into view, or whether the handle is stale or never existed.
   */
  inspect(ref: string, action: Action): TargetFacts | "stale" | "unknown";
  /** Returns the handle of the focused element, which receives keys, if it has one. */
  focused(): string | undefined;
  /**
   * Returns the elements that an action uses besides its target: the app's `confirm` decides about each. `to` is the target
   * of a drag.
   */
  activated?(action: Action, ref: string | undefined, to?: string): Activated[];
  /** Begins to record the page's reactions during an action. */
  beginAction(action: Action): void;
  /** Performs an action. `ref` is the handle of its target, `to` that of the drop target. */
  apply(action: Action, ref: string | undefined, to: string | undefined, signal: AbortSignal): Promise<void>;
  /** Waits until the effects of the action have ended. With `isBrief`, one task is enough. */
  rest(isBrief: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Compares the value of an element, or of its replacement in the page, with the value that an action has set; returns
   * nothing if there is nothing to compare.
   *
   * @throws ActionError if the current value is unknown.
   */
  readBack(ref: string, action: Action): ReadBack | undefined;
  /** Ends the recording, and returns it. */
  endAction(): ActionOutcome;
  /** Waits for a change of the page, at least 50 ms and at most `ms`. */
  change(ms: number, signal: AbortSignal): Promise<void>;
  /** Waits, also in a hidden tab, whose timers are late. Fulfilled early if the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Keeps the resources for waiting until the returned function is called, for a call with several waits. */
  hold(): () => void;
  /**
   * Returns the element of a handle, for the app's own functions.
   *
   * @throws ActionError if it does not exist, or must not be used.
   */
  element?(ref: string): Element | undefined;
  /** Opens a page of the app. */
  open(pageId: string, input: object | undefined, signal: AbortSignal): Promise<void>;
  /** Returns the pages that `open` can open. */
  pages(): Promise<{ pageId: string; title: string; url?: string }[]>;
  /** Returns the state of the app. */
  state(): Promise<PageState>;
  /** Called after a call has acted, before the next one begins. An exception in it ends the call. */
  callEnded?(): Promise<void>;
  /** Releases the resources of the driver. */
  dispose(): void;
}

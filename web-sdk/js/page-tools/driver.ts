/**
 * What the page tools need of a user interface. The DOM driver (`page-tools/dom`) implements it; the rules of actions, the texts
 * and the handles are in the crate `page-tools`, which decides what a driver does next.
 */

import type { Action } from "./actions.ts";

/** One element of the user interface, or a text, with what is inside it. */
export interface PageNode {
  /** An ARIA role; `text` for a text, `private` for what is not shown, `generic` for an element without a role. */
  role: string;
  /** The accessible name. */
  name?: string;
  /** The handle, such as `e12`: only on elements that can be acted on, that scroll, or that `within` can name. */
  ref?: string;
  /** Whether it has a handle only because of {@link TreeOptions.everyText}. */
  isOnlyText?: boolean;
  /** The text of a node whose role is `text`. */
  text?: string;
  /** What a control has as its value: several with a multiple selection. `(hidden)` for a secret that is not empty. */
  value?: string | string[];
  /** The choices of a control, as far as the page has them. */
  options?: { value: string; label: string }[];
  /** In any order, of `required readonly disabled checked mixed selected pressed expanded collapsed focused foreign`. */
  states?: string[];
  /** The level of a heading or of an item of a tree. */
  level?: number;
  /** Why the value is not valid. */
  error?: string;
  /** The accessible description. */
  description?: string;
  /** The address of a link, as it is written in the page. */
  url?: string;
  /** The rows of a table or grid: how many are shown and how many there are. */
  rows?: { shown: number; total: number };
  /** Events that the role does not imply: `onClick` of a `generic` that can be clicked. */
  events?: string[];
  /** The driver's own type of the element, such as a Lowdefy block type: shown as `type`. */
  type?: string;
  /** How the element is written as markdown, where its role does not say so. */
  category?: "input" | "display" | "container" | "list";
  /** The app's own id of the element: for `page_query`, not shown. */
  id?: string;
  /** Its test id (`data-testid`): for `find` and `page_query`, not shown. */
  testId?: string;
  /** What is inside. */
  children?: PageNode[];
}

/** The user interface at one moment. */
export interface PageTree {
  /** The outermost element: it is not shown itself if it is a `generic`. */
  root: PageNode;
  /** How many elements there are: nodes whose role is not `text`, those beyond the limit included. */
  elements: number;
  /** How many of them are in `root`. */
  shown: number;
}

/** What part of the user interface is looked at. */
export interface TreeOptions {
  /** The handle of the element whose inside is looked at. */
  within?: string | undefined;
  /** The elements with names and values; those beyond are only counted. */
  limit: number;
  /** Whether only elements with a handle, and what leads to them, are looked at. */
  interactive?: boolean;
  /** Whether all elements with a text have a handle: an action may mean a text that is no control. */
  everyText?: boolean;
}

/** What is known of the target of an action, immediately before it. */
export interface TargetFacts {
  /** The element in the words of the page's text, such as `button "Save"`: cut, cleaned by the core. */
  label: string;
  /** Why it cannot be used now, if that is so: the word that the page uses. */
  disabled?: "disabled" | "aria-disabled" | "fieldset" | "inert" | "pointer-events: none";
  /** Its value can be read, and not changed. */
  readOnly?: boolean;
  /** It is not shown, or has an empty box. */
  hidden?: boolean;
  /** What covers its centre, in the words of the page's text. */
  coveredBy?: string;
  /** It is in an element with `data-mcp-private`, or a value that is set would replace such an element. */
  private?: boolean;
  /** It is outside of the option `root`. */
  outside?: boolean;
  /** It takes a value: an input, a select, a switch, an editable element. */
  editable?: boolean;
}

/** What an action uses besides its target: the button that Enter in a field presses, the link of a page that is opened, what something is dragged to. */
export interface Activated {
  /** The element itself. */
  element: Element;
  /** The element in words, such as `button "Send"`. */
  label: string;
}

/** How an action went. */
export interface ActionOutcome {
  /** Why it failed, of the action codes; absent if it did not. */
  code?: string;
  /** What happened and what to do next, of a failure; absent where the core has words for the code. */
  error?: string;
  /** The handles of what it changed, 10 at most: only of elements that have one. */
  changed?: string[];
  /** Where the page went, if it did. */
  navigated?: string;
  /** The dialogs of the browser that it opened, as `confirm "Sure?" false`. */
  dialog?: string;
  /** What the page said to its user. */
  messages?: { status: string; content: string }[];
  /** Console errors, unhandled rejections, failed requests, what did not come to rest: 10 at most. */
  warnings?: string[];
}

/** What was set and what the page has now. */
export interface ReadBack {
  /** The value that was set, as a text. */
  expected: string;
  /** The value that the page has now, as a text. */
  actual: string;
  /** Whether they are the same value. */
  matches: boolean;
}

/** What `get_state` returns. */
export interface PageState {
  /** The page that is open, if the app shows anything of it. */
  pageId?: string;
  /** The state of the page. */
  state: unknown;
  /** The state that all pages share. */
  global: unknown;
  /** The latest answers to requests, where the app knows them. */
  requests: unknown;
  /** Whether something was left out because it was too much. */
  truncated?: boolean;
}

/** A failure that has an action code. */
export class ActionError extends Error {
  /** One of the action codes. */
  readonly code: string;

  /** Takes a code, and what happened and what to do next. */
  constructor(code: string, message: string) {
    super(message);
    this.name = "ActionError";
    this.code = code;
  }
}

/** A user interface. Every wait ends with its signal, and needs no timer of the page. */
export interface PageDriver {
  /** Where the document is, of a driver whose calls outlive their document: they are handed over. */
  place?(): string;
  /** The page that is open. Nothing is known of it where the app shows nothing of it. */
  page(): { pageId?: string; url?: string; title?: string };
  /**
   * Looks at the page: at a large one in parts, between which the page goes on.
   *
   * @throws ActionError with `TargetStale` when `within` is not there any more.
   */
  tree(options: TreeOptions): PageTree | Promise<PageTree>;
  /**
   * Returns what is known of a target after it was scrolled into view, or that the handle names nothing that is there any
   * more, or nothing that ever was.
   */
  inspect(ref: string, action: Action): TargetFacts | "stale" | "unknown";
  /** Returns the handle of the element that has the focus, if one has it: keys go there. */
  focused(): string | undefined;
  /** Returns what an action uses besides its target: the app's `confirm` decides about each. `to` is where something is dragged. */
  activated?(action: Action, ref: string | undefined, to?: string): Activated[];
  /** Begins to record what the page does, for the time of an action. */
  beginAction(action: Action): void;
  /** Does an action. `ref` is the handle of its target, `to` that of where something is dragged. */
  apply(action: Action, ref: string | undefined, to: string | undefined, signal: AbortSignal): Promise<void>;
  /** Waits until what was begun has ended. `isBrief`: one task suffices. */
  rest(isBrief: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Compares the value of an element with the one that an action has set: that of the element which the page has put in its
   * place, if it has; nothing if there is nothing to compare. @throws ActionError when it is not known where the value is.
   */
  readBack(ref: string, action: Action): ReadBack | undefined;
  /** Ends the record, and returns it. */
  endAction(): ActionOutcome;
  /** Waits for a change of the page, at least 50 ms and at most `ms`. */
  change(ms: number, signal: AbortSignal): Promise<void>;
  /** Waits; also in a hidden tab, whose timers are late. Fulfilled early when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Keeps what waiting needs until the function that is returned is called, for a call of several waits. */
  hold(): () => void;
  /** Returns the element of a handle, for the app's own functions. @throws ActionError when it is not there, or must not be used. */
  element?(ref: string): Element | undefined;
  /** Opens a page of the app. */
  open(pageId: string, input: object | undefined, signal: AbortSignal): Promise<void>;
  /** Returns the pages that `open` opens. */
  pages(): Promise<{ pageId: string; title: string; url?: string }[]>;
  /** Returns what the app says of its state. */
  state(): Promise<PageState>;
  /** Called when a call has acted, before the next one begins. What it throws is the end of the call. */
  callEnded?(): Promise<void>;
  /** Ends what the driver has begun. */
  dispose(): void;
}

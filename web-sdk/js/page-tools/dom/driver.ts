/**
 * The DOM driver: it looks at a web page and acts on it, in the tab that the user has open.
 *
 * `tree.ts` reads the page, `handles.ts` names its elements, and `inspect.ts` checks the target of an action. `click.ts`,
 * `set-value.ts`, `keys.ts` and others act. `recorder.ts` records the page's reactions, and `rest.ts` waits until they have
 * ended.
 */

import { invoke, read } from "../../dom/native.ts";
import { watchPerson } from "../../person/activation.ts";
import { nextTask } from "../../mcp-web/next-task.ts";
import { guardQueries } from "../../person/query-guard.ts";
import { whenAnswered } from "../../person/tab.ts";
import type { Action } from "../actions.ts";
import { type Activated, ActionError, type ActionOutcome, type PageDriver, type PageState, type PageTree, type ReadBack, type TargetFacts, type TreeOptions } from "../driver.ts";
import { NOTHING_SHOWN } from "../failure.ts";
import { type AppPage, type PageToolsLimits, type PageToolsOptions, completeLimits } from "../options.ts";
import { fitState } from "../state-size.ts";
import { labelOf } from "./action-label.ts";
import { effectsOf } from "./action-effects.ts";
import { applyAction } from "./apply.ts";
import { Clock } from "./clock.ts";
import { effectsOfClick, used } from "./default-actions.ts";
import { inspectElement } from "./inspect.ts";
import { deepActiveElement, is, isInPage, pageViews } from "./flat-tree.ts";
import { Handles } from "./handles.ts";
import { HiddenTab } from "./hidden-tab.ts";
import { refuseForbidden } from "./permission.ts";
import { limitTo, look } from "./look.ts";
import { bodyOf } from "./native.ts";
import { linkToPage, openPage } from "./navigate.ts";
import { shortUrl } from "./navigation.ts";
import { currentPageId, linkedPages, namedPages } from "./pages.ts";
import { Pointer } from "./pointer.ts";
import { readBack } from "./read-back.ts";
import { Recorder } from "./recorder.ts";
import { waitForChange, waitForRest } from "./rest.ts";
import { watchSecrets } from "./secret.ts";
import { formValues } from "./state.ts";
import { readTree } from "./tree.ts";

/** Minimum wait for a change. */
const MIN_CHANGE_MS = 50;
/** How long after a scroll a visible page has received the event. */
const SCROLL_MS = 32;

/**
 * A page and the actions on it. Between calls it only records which fields contain secrets, and replaces nothing of the
 * page.
 */
export class DomDriver implements PageDriver {
  readonly #readOptions: () => PageToolsOptions;
  readonly #handles: Handles;
  readonly #clock = new Clock();
  readonly #hiddenTab = new HiddenTab(this.#clock);
  readonly #pointer = new Pointer();
  #recorder: Recorder | undefined;
  /** The target of the running action. */
  #target: Element | undefined;
  /** The elements about which the app was asked for the next action, with the label of each. */
  #asked: Map<Element, string> | undefined;
  /** Removes the limit of the elements that actions may use. */
  #endLimit: (() => void) | undefined;
  /** The target of the next action, if the page was scrolled to it, with its label before the scroll. */
  #scrolledTo: { ref: string; label: string } | undefined;
  /** The root if the app provides none: nothing is seen and used. */
  readonly #nothing = invoke(document, "createElement", "div");
  /** Ends the watch for secrets. */
  #endWatch: (() => void) | undefined;
  /** Ends the guard of queries. */
  #endGuard: (() => void) | undefined;
  /** The number of calls that need the clock. */
  #holds = 0;
  /** The pages that the app named when it was last asked. */
  #named: readonly AppPage[] | undefined;

  /**
   * Takes the options, or a function that returns the current ones.
   *
   * @throws RangeError if a limit is out of range.
   */
  constructor(options: PageToolsOptions | (() => PageToolsOptions) = {}) {
    this.#readOptions = typeof options === "function" ? options : () => options;
    this.#handles = new Handles(this.#limits.maxHandles);
    this.#endWatch = watchSecrets();
    if (!this.#options.readOnly) this.#guard();
    const { pages } = this.#options;
    if (Array.isArray(pages)) this.#named = pages;
  }

  get #options(): PageToolsOptions {
    return this.#readOptions();
  }

  get #limits(): PageToolsLimits {
    return completeLimits(this.#options.limits);
  }

  place(): string {
    return this.#isShown ? location.pathname + location.search + location.hash : "another page";
  }

  page(): ReturnType<PageDriver["page"]> {
    if (!this.#isShown) return {};
    return { pageId: this.#pageId(), url: shortUrl(location.href), title: read(document, "title") };
  }

  tree(options: TreeOptions): PageTree | Promise<PageTree> {
    const root = options.within === undefined ? this.#root() : this.#use(options.within);
    return readTree(root, this.#root(), this.#handles, options);
  }

  /** Returns the element of a handle. @throws ActionError with `TargetStale`, `TargetNotFound` or `TargetPrivate`. */
  element(ref: string): Element {
    const element = this.#use(ref);
    look(this.#root(), () => refuseForbidden([{ element }]));
    return element;
  }

  inspect(ref: string, action: Action): TargetFacts | "stale" | "unknown" {
    const element = this.#handles.use(ref);
    if (typeof element === "string") return element;
    return inspectElement(element, this.#root(), action, (label) => (this.#scrolledTo = { ref, label }));
  }

  focused(): string | undefined {
    const element = this.#isShown && deepActiveElement();
    return element && !is(element, "body", "html") ? this.#handles.batch(() => this.#handles.assign(element)) : undefined;
  }

  activated(action: Action, ref: string | undefined, to?: string): Activated[] {
    const [target, toTarget] = [ref, to].map((one) => {
      const element = one === undefined ? undefined : this.#handles.use(one);
      return typeof element === "object" ? element : undefined;
    });
    const used = this.#labelled(this.#usedBy(action, target, toTarget));
    this.#asked = new Map([...this.#labelled(target ? [target] : []), ...used]);
    return [...used].map(([element, label]) => ({ element, label }));
  }

  beginAction(action: Action): void {
    this.#recorder?.stop();
    const views = pageViews();
    this.#guard();
    watchPerson(views);
    this.#hiddenTab.install(views);
    this.#hiddenTab.activity.begin();
    this.#endLimit = limitTo(this.#root());
    this.#recorder = new Recorder(action, this.#root(), this.#handles, () => this.#pageId());
  }

  async apply(action: Action, ref: string | undefined, to: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (action.type !== "waitFor") this.#requireShown();
    await this.#settleScroll(signal);
    // The person may have been asked a question since the target was inspected.
    await whenAnswered(signal);
    signal.throwIfAborted();
    const element = ref === undefined ? undefined : this.#use(ref);
    const target = to === undefined ? undefined : this.#use(to);
    this.#target = element;
    this.#checkAsked(action, element, target);
    const { clock, pointer } = { clock: this.#clock, pointer: this.#pointer };
    const parts = { root: this.#root(), options: this.#options, clock, pointer, warn: (text: string) => this.#recorder?.warn(text) };
    await applyAction(action, element, target, parts, signal);
  }

  async rest(isBrief: boolean, signal: AbortSignal): Promise<void> {
    const recorder = this.#recorder;
    if (isBrief) await nextTask();
    else if (recorder) await waitForRest(recorder, this.#hiddenTab.activity, this.#clock, signal);
  }

  readBack(_ref: string, action: Action): ReadBack | undefined {
    // The target may have left the page, and another element may have replaced it.
    return action.type === "setValue" && this.#target ? readBack(this.#target, action.value, (text) => this.#recorder?.warn(text)) : undefined;
  }

  endAction(): ActionOutcome {
    const outcome = this.#recorder?.stop() ?? {};
    this.#recorder = undefined;
    this.#target = undefined;
    this.#asked = undefined;
    this.#endLimit?.();
    this.#endLimit = undefined;
    this.#releaseUnused();
    return this.#isShown ? outcome : {};
  }

  async change(ms: number, signal: AbortSignal): Promise<void> {
    this.#hiddenTab.install(pageViews());
    await waitForChange(this.#root(), this.#clock, MIN_CHANGE_MS, ms, signal);
    this.#releaseUnused();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const release = this.hold();
    await this.#clock.sleep(ms, signal).catch(() => {});
    release();
  }

  hold(): () => void {
    this.#holds += 1;
    return () => {
      this.#holds -= 1;
      this.#releaseUnused();
    };
  }

  async open(pageId: string, input: object | undefined, signal: AbortSignal): Promise<void> {
    this.#requireShown();
    this.#named = await namedPages(this.#options);
    const isOwn = !this.#recorder;
    if (isOwn) this.beginAction({ type: "navigate", pageId });
    try {
      await openPage(pageId, input, this.#root(), this.#options, this.#pointer);
      if (isOwn) await this.rest(false, signal);
    } finally {
      if (isOwn) this.endAction();
    }
  }

  async pages(): Promise<AppPage[]> {
    if (!this.#isShown) return [];
    this.#named = await namedPages(this.#options);
    return this.#named ? this.#named.map(({ pageId, title, url }) => ({ pageId, title, ...(url === undefined ? {} : { url }) })) : linkedPages(this.#root());
  }

  async state(): Promise<PageState> {
    if (!this.#isShown) return { state: null, global: null, requests: {} };
    const { state, global } = this.#options;
    const own = fitState(state ? await state() : formValues(this.#root(), this.#limits.maxValueBytes));
    const shared = fitState((await global?.()) ?? {}, own.bytesLeft);
    const truncated = own.truncated || shared.truncated;
    return { pageId: this.#pageId(), state: own.value, global: shared.value, requests: {}, ...(truncated ? { truncated } : {}) };
  }

  dispose(): void {
    this.endAction();
    this.#endGuard?.();
    this.#endGuard = undefined;
    this.#endWatch?.();
    this.#endWatch = undefined;
  }

  /** From now on, queries need an action of the person. */
  #guard(): void {
    this.#endGuard ??= guardQueries(pageViews());
  }

  /** Ends running work that is no longer needed. */
  #releaseUnused(): void {
    if (this.#holds || this.#recorder) return;
    const finished = this.#hiddenTab.finish();
    if (finished) return void finished.then(() => this.#release());
    this.#release();
  }

  #release(): void {
    if (this.#holds || this.#recorder) return;
    this.#hiddenTab.restore();
    this.#clock.release();
  }

  #root(): Element {
    const { root } = this.#options;
    if (root === undefined) return bodyOf(document);
    const given = typeof root === "function" ? root() : root;
    return given && isInPage(given) ? given : this.#nothing;
  }

  /** Whether the app shows AI clients any part of the page. */
  get #isShown(): boolean {
    return this.#root() !== this.#nothing;
  }

  #requireShown(): void {
    if (!this.#isShown) throw new ActionError("Declined", NOTHING_SHOWN);
  }

  /**
   * Waits until the page has received the scroll event. It may close an element that the action would open, or render its
   * list again.
   */
  async #settleScroll(signal: AbortSignal): Promise<void> {
    const before = this.#scrolledTo;
    this.#scrolledTo = undefined;
    if (!before) return;
    await this.#clock.sleep(SCROLL_MS, signal);
    if (this.#labelOf(this.#use(before.ref)) === before.label) return;
    throw new ActionError("TargetStale", `the page has made something else of ${before.ref} when it was scrolled into view: take a page_snapshot`);
  }

  /** Returns the elements that an action uses besides its target. */
  #usedBy(action: Action, target: Element | undefined, to: Element | undefined): Element[] {
    return look(this.#root(), () => {
      const link = action.type === "navigate" ? linkToPage(action.pageId, this.#root(), this.#options, this.#named) : undefined;
      const effects = link ? [used(link), ...effectsOfClick(link)] : effectsOf(action, target, to);
      return [...new Set(effects.flatMap(({ element, isUsed }) => (isUsed && element !== target ? [element] : [])))];
    });
  }

  /** Returns elements with the label of each. */
  #labelled(elements: readonly Element[]): Map<Element, string> {
    return look(this.#root(), () => new Map(elements.map((element) => [element, labelOf(element)])));
  }

  /** The page may have replaced an element about which the app was asked. */
  #checkAsked(action: Action, target: Element | undefined, to: Element | undefined): void {
    const asked = this.#asked;
    const elements = [...(target ? [target] : []), ...(asked ? this.#usedBy(action, target, to) : [])];
    if (!asked || [...this.#labelled(elements)].every(([element, label]) => asked.get(element) === label)) return;
    throw new ActionError("TargetStale", "the action would use something else by now than what the app was asked about: take a page_snapshot");
  }

  #labelOf(element: Element): string {
    return look(this.#root(), () => labelOf(element));
  }

  #pageId(): string {
    return currentPageId(this.#named);
  }

  #use(ref: string): Element {
    const element = this.#handles.use(ref);
    if (typeof element !== "string") return element;
    if (element === "stale") throw new ActionError("TargetStale", `${ref} is no longer on the page: take a page_snapshot`);
    throw new ActionError("TargetNotFound", `${ref} is not a handle of this page: take a page_snapshot`);
  }
}

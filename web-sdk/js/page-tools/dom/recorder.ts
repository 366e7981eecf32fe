/** Records the reactions of the page during an action. It is installed only for that time. */

import type { ActionOutcome } from "../driver.ts";
import type { Action } from "../actions.ts";
import { labelOf } from "./action-label.ts";
import { Dialogs } from "./dialogs.ts";
import { flatAncestors, isElement, isInPage, pageViews, type View } from "./flat-tree.ts";
import type { Handles } from "./handles.ts";
import { fireFocusEvents } from "./focus.ts";
import { isForbidden } from "./permission.ts";
import { look } from "./look.ts";
import { Mutations } from "./mutations.ts";
import { NavigationWatch } from "./navigation.ts";
import { watchNewTabs } from "./new-tabs.ts";
import { Patches } from "./patch.ts";
import { Requests } from "./requests.ts";
import { validationMessageOf } from "./secret.ts";
import { isPrivate } from "./shown.ts";

const MAX_WARNINGS = 10;
const MAX_WARNING_LENGTH = 300;
const MAX_CHANGED = 10;
/** Maximum number of changed elements whose handle is looked up. */
const MAX_NOTED = 1_000;

export class Recorder {
  readonly startedAt = performance.now();
  readonly mutations: Mutations;
  readonly requests: Requests;
  readonly navigation: NavigationWatch;
  readonly #root: Element;
  readonly #handles: Handles;
  readonly #dialogs: Dialogs;
  readonly #patches = new Patches();
  readonly #end = new AbortController();
  readonly #changed = new Set<Element>();
  readonly #warnings: string[] = [];
  readonly #invalid = new Map<Element, string>();

  constructor(action: Action, root: Element, handles: Handles, getPageId: () => string) {
    this.#root = root;
    this.#handles = handles;
    this.#dialogs = new Dialogs(action.dialog);
    this.requests = new Requests((warning) => this.warn(warning), this.#end.signal);
    const warnOfProgram = (url: string) => this.warn(`${url} is opened by a program of the user's: the page does not show whether it was`);
    this.navigation = new NavigationWatch(getPageId, warnOfProgram, this.#end.signal);
    this.mutations = new Mutations(root, (element) => this.#note(element));
    for (const view of pageViews()) this.#install(view);
  }

  warn(warning: string): void {
    if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push(warning.slice(0, MAX_WARNING_LENGTH));
  }

  /** Removes everything that was installed, and returns the record. */
  stop(): ActionOutcome {
    this.mutations.flush();
    const outcome: ActionOutcome = {};
    const changed = this.#changedHandles();
    if (changed.length) outcome.changed = changed;
    const { navigated } = this.navigation;
    if (navigated !== undefined) outcome.navigated = navigated;
    const { log } = this.#dialogs;
    if (log) outcome.dialog = log;
    if (this.#invalid.size) outcome.messages = [{ status: "error", content: this.#describeInvalid() }];
    if (this.#warnings.length) outcome.warnings = this.#warnings;
    this.mutations.stop();
    this.#end.abort();
    this.#patches.restore();
    return outcome;
  }

  #install(view: View): void {
    const { signal } = this.#end;
    this.#dialogs.install(view, this.#patches);
    this.requests.install(view, this.#patches);
    fireFocusEvents(view, this.#patches);
    watchNewTabs(view, this.#patches, (text) => this.warn(text), signal);
    this.#patches.replace(view.console, "error", (original) => (...args) => {
      this.warn(`console: ${args.map(describe).join(" ")}`);
      Reflect.apply(original, view.console, args);
    });
    view.addEventListener("error", (event) => this.warn(`uncaught: ${event.message ?? "an error"}`), { signal });
    view.addEventListener("unhandledrejection", ({ reason }) => this.warn(`unhandled rejection: ${describe(reason)}`), { signal });
    // Values change without a mutation.
    const note = (event: Event) => this.#note(event.composedPath()[0] as Element);
    for (const type of ["input", "change", "toggle"]) view.addEventListener(type, note, { signal, capture: true });
    view.addEventListener("invalid", (event) => this.#noteInvalid(event), { signal, capture: true });
  }

  #note(element: Element): void {
    if (isElement(element) && this.#changed.size < MAX_NOTED) this.#changed.add(element);
  }

  #noteInvalid(event: Event): void {
    const element = event.composedPath()[0] as HTMLInputElement;
    if (!isElement(element) || !element.validationMessage || isForbidden({ element })) return;
    this.#invalid.set(element, validationMessageOf(element));
  }

  #describeInvalid(): string {
    const describeOne = ([element, message]: [Element, string]) => `${labelOf(element)}: ${message}`;
    return look(this.#root, () => [...this.#invalid].slice(0, MAX_CHANGED).map(describeOne).join("; "));
  }

  /** Returns the handles of the changed elements, or of their nearest ancestors that have one. */
  #changedHandles(): string[] {
    const handles = new Set<string>();
    for (const element of this.#changed) {
      for (const around of flatAncestors(element)) {
        // A change of the whole page is not informative.
        if (around === this.#root) break;
        const handle = isInPage(around) && !isPrivate(around) ? this.#handles.find(around) : undefined;
        if (!handle) continue;
        handles.add(handle);
        break;
      }
      if (handles.size >= MAX_CHANGED) break;
    }
    return [...handles];
  }
}

/** Returns a logged or thrown value as a short text. */
function describe(value: unknown): string {
  try {
    if (typeof value === "string") return value.slice(0, MAX_WARNING_LENGTH);
    const { message } = (value ?? {}) as { message?: unknown };
    if (typeof message === "string") return message;
    return typeof value === "object" ? Object.prototype.toString.call(value) : String(value);
  } catch {
    return "something that cannot be shown";
  }
}

/**
 * A modal dialog in a closed shadow root: it controls the visibility to the person, and its events, which the page does not
 * receive. It stays in front even if the page removes it or opens another dialog.
 */

import { createElement } from "../dialog/element.ts";
import { invoke, read } from "../dom/native.ts";
import { outermostWindow } from "./outermost-window.ts";

/**
 * How long a dialog must be visible before it accepts an answer, in milliseconds. An earlier input was meant for something
 * else.
 */
const MIN_VISIBLE_MS = 500;
/** Interval at which the dialog is checked to be in front, in milliseconds. */
const CHECK_MS = 250;
/**
 * Events of the dialog that the page does not receive: they are not meant for its shortcuts, and a focus trap of a page's
 * dialog would intercept the clicks.
 */
const EVENTS = [
  "click", "dblclick", "auxclick", "contextmenu", "keydown", "keypress", "keyup", "pointerdown", "pointerup", "mousedown", "mouseup", "touchstart",
  "touchend", "focusin", "focusout", "focus", "blur", "wheel", "paste",
];

export class ShownDialog {
  readonly view: Window;
  readonly #dialog: HTMLDialogElement;
  readonly #host: HTMLDivElement;
  readonly #root: ShadowRoot;
  readonly #focused: HTMLElement | null;
  readonly #end = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  /** Since when the dialog has been visible to the person, as a time of `performance.now()`; `Infinity` while it is not. */
  #visibleSince = Infinity;

  constructor(
    view: Window,
    dialog: HTMLDialogElement,
    kind: string,
    css: string,
    onEvent: (event: Event, target: Element | null) => void,
    onWindowClosed: () => void,
  ) {
    const { document } = view;
    this.view = view;
    this.#dialog = dialog;
    this.#focused = read(document, "activeElement") as HTMLElement | null;
    this.#host = invoke(document, "importNode", createElement("div", { "data-mcp-web": kind, "data-mcp-person": "" })) as HTMLDivElement;
    // A page without its own colour scheme gets the one that the person prefers.
    const scheme = view.getComputedStyle(read(document, "documentElement")).colorScheme;
    const shown = !scheme || scheme === "normal" ? "light dark" : scheme;
    // Rules of the page for all elements, such as `div { display: none !important }`, do not apply.
    this.#host.style.cssText = `all: initial !important; display: contents !important; color-scheme: ${shown} !important`;
    this.#root = this.#host.attachShadow({ mode: "closed" });
    const sheet = new (view as Window & typeof globalThis).CSSStyleSheet();
    sheet.replaceSync(css);
    this.#root.adoptedStyleSheets = [sheet];
    this.#root.append(dialog);
    const { signal } = this.#end;
    invoke(document, "addEventListener", "visibilitychange", () => this.#look(), { signal });
    // A click that brings the window to the front is not an answer.
    view.addEventListener("focus", ({ target }) => target === view && this.#look(), { signal });
    for (const type of EVENTS) {
      const take = (event: Event) => {
        if (event.target !== this.#host) return;
        event.stopImmediatePropagation();
        onEvent(event, this.#targetOf(event));
      };
      view.addEventListener(type, take, { signal, capture: true });
    }
    this.#show(read(document, "body"));
    this.#timer = setInterval(() => (view.closed ? onWindowClosed() : this.#check()), CHECK_MS);
  }

  /** Returns whether the dialog has been visible long enough. */
  isVisible(): boolean {
    return performance.now() - this.#visibleSince >= MIN_VISIBLE_MS;
  }

  /** Returns whether the dialog is visible, and nothing is in front of this button. */
  isInFront(button: Element): boolean {
    const { document } = this.view;
    return this.isVisible() && invoke(document, "hasFocus") && this.#root.activeElement !== null && this.#isHit(button);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#end.abort();
    this.#dialog.close();
    this.#host.remove();
    if (this.view !== outermostWindow()) return this.view.close();
    const focused = this.#focused;
    if (focused && read(this.view.document, "activeElement") !== focused) read(focused, "focus")?.call(focused, { preventScroll: true });
  }

  /** Returns the target of an event, which is hidden outside of the shadow root. */
  #targetOf(event: Event): Element | null {
    const { clientX = 0, clientY = 0, detail } = event as MouseEvent;
    const hit = event.type === "click" && detail ? this.#root.elementFromPoint(clientX, clientY) : null;
    return hit ?? this.#root.activeElement;
  }

  #show(parent: HTMLElement): void {
    if (this.#host.parentElement !== parent) invoke(parent, "append", this.#host);
    this.#dialog.close();
    // With a style calculation in between, the animation of the button restarts.
    this.#dialog.getBoundingClientRect();
    this.#dialog.showModal();
    this.#look();
  }

  #look(): void {
    this.#visibleSince = read(this.view.document, "visibilityState") === "visible" ? performance.now() : Infinity;
  }

  /** The page may have removed the dialog, or opened another one in front of it. */
  #check(): void {
    const { document } = this.view;
    if (this.#host.isConnected && this.#dialog.matches(":modal") && this.#isHit(this.#dialog)) {
      if (this.#visibleSince === Infinity) this.#look();
      return;
    }
    this.#visibleSince = Infinity;
    // A dialog of another copy of the SDK is answered first.
    const hit = this.#hit(this.#dialog);
    if (read(document, "visibilityState") === "visible" && !(hit && invoke(hit, "matches", "[data-mcp-web]"))) this.#show(read(document, "documentElement"));
  }

  /** Returns whether a mouse would hit an element of the dialog at its centre. */
  #isHit(element: Element): boolean {
    return this.#hit(element) === this.#host && invoke(element, "contains", this.#hit(element, this.#root));
  }

  #hit(element: Element, root: DocumentOrShadowRoot = this.view.document): Element | null {
    const { x, y, width, height } = invoke(element, "getBoundingClientRect");
    return invoke(root, "elementFromPoint", x + width / 2, y + height / 2);
  }
}

/**
 * A modal dialog in a closed shadow root: what the person sees of it, and its events, which the page does not get. It stays in
 * front, also where the page removes it or opens a dialog itself.
 */

import { createElement } from "../dialog/element.ts";
import { invoke, read } from "../dom/native.ts";
import { outermostWindow } from "./outermost-window.ts";

/** How long a dialog must be visible before it takes an answer, in milliseconds: an earlier one was meant for something else. */
const MIN_VISIBLE_MS = 500;
/** How often it is checked that the dialog is still in front, in milliseconds. */
const CHECK_MS = 250;
/**
 * Events of the dialog, which the page does not get: its shortcuts are not meant, and what keeps the focus in a dialog of the page
 * would take the clicks.
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
  /** Since when the person can see the dialog, as a time of `performance.now()`; `Infinity` while they cannot. */
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
    // A page that has no colour scheme of its own gets the one that the person prefers.
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
    // A click that brings the window to the front is no answer.
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

  /** Whether the person has had the time to see the dialog. */
  isVisible(): boolean {
    return performance.now() - this.#visibleSince >= MIN_VISIBLE_MS;
  }

  /** Whether the person can see the dialog, and nothing is in front of this button. */
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

  /** Returns what an event is for, which is not visible outside of the shadow root. */
  #targetOf(event: Event): Element | null {
    const { clientX = 0, clientY = 0, detail } = event as MouseEvent;
    const hit = event.type === "click" && detail ? this.#root.elementFromPoint(clientX, clientY) : null;
    return hit ?? this.#root.activeElement;
  }

  #show(parent: HTMLElement): void {
    if (this.#host.parentElement !== parent) invoke(parent, "append", this.#host);
    this.#dialog.close();
    // With styles in between, the button is grey anew.
    this.#dialog.getBoundingClientRect();
    this.#dialog.showModal();
    this.#look();
  }

  #look(): void {
    this.#visibleSince = read(this.view.document, "visibilityState") === "visible" ? performance.now() : Infinity;
  }

  /** The page may have removed the dialog, or have opened another one in front of it. */
  #check(): void {
    const { document } = this.view;
    if (this.#host.isConnected && this.#dialog.matches(":modal") && this.#isHit(this.#dialog)) {
      if (this.#visibleSince === Infinity) this.#look();
      return;
    }
    this.#visibleSince = Infinity;
    // That of another copy of the SDK is answered first.
    const hit = this.#hit(this.#dialog);
    if (read(document, "visibilityState") === "visible" && !(hit && invoke(hit, "matches", "[data-mcp-web]"))) this.#show(read(document, "documentElement"));
  }

  /** Whether the centre of an element of the dialog is what a mouse hits there. */
  #isHit(element: Element): boolean {
    return this.#hit(element) === this.#host && invoke(element, "contains", this.#hit(element, this.#root));
  }

  #hit(element: Element, root: DocumentOrShadowRoot = this.view.document): Element | null {
    const { x, y, width, height } = invoke(element, "getBoundingClientRect");
    return invoke(root, "elementFromPoint", x + width / 2, y + height / 2);
  }
}

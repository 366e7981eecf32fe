/**
 * The surface on which the person at the page answers: everything of the SDK that asks them is shown here, and nothing but
 * their own events answers. It is a modal dialog in a closed shadow root, so that scripts and page tools neither find nor
 * use what is in it, and page tools wait as long as it is open.
 *
 * An answer counts if the browser says that the event is the person's (`isTrusted`), the dialog has been visible for
 * {@link MIN_VISIBLE_MS}, nothing is in front of the button, and the window has the focus. In a frame of another origin,
 * whose page could draw over the dialog, it is shown in a window of its own.
 */

import { createElement } from "../dialog/element.ts";
import { openQuestion, outermostWindow } from "./tab.ts";

/** How long a dialog must be visible before it takes an answer, in milliseconds: an earlier one was meant for something else. */
const MIN_VISIBLE_MS = 500;
/**
 * Events of the dialog, which the page does not get: its shortcuts are not meant, and what keeps the focus in a dialog of the page
 * would take the clicks.
 */
const EVENTS = [
  "click", "dblclick", "auxclick", "contextmenu", "keydown", "keypress", "keyup", "pointerdown", "pointerup", "mousedown", "mouseup", "touchstart",
  "touchend", "focusin", "focusout", "focus", "blur", "wheel", "paste",
];
/** How often it is checked that the dialog is still in front, in milliseconds. */
const CHECK_MS = 250;
/** The size of a window that shows the dialog. */
const WINDOW_FEATURES = "popup,width=560,height=700";

/** A question to the person, with answers of some type. */
export interface Question<Answer> {
  /** What is asked, in a short text. */
  text: string;
  /** What kind of question it is, for the styles and tests of the app: the value of `data-mcp-web` of the host element. */
  kind: string;
  /** The style sheet of the dialog. */
  css: string;
  /** Creates the dialog. */
  create(surface: Surface<Answer>): HTMLDialogElement;
  /** The answer of a person who closes the dialog. */
  cancelled: Answer;
  /** The words for a person in a frame of another origin. */
  frame: FrameStrings;
}

/** The words of the dialog that opens a window. */
export interface FrameStrings {
  explanation: string;
  open: string;
  decline: string;
}

/** What a dialog may do. */
export interface Surface<Answer> {
  /** Creates a button that answers, if the event counts. The function may return nothing, and the dialog stays open then. */
  answerButton(text: string, attributes: object, answer: () => Answer | undefined): HTMLButtonElement;
  /** Answers by Enter in a field as the button does. */
  answersByEnter(field: HTMLElement, button: HTMLButtonElement, answer: () => Answer | undefined): void;
  /** Creates a button that refuses: it needs no proof that the person has seen the dialog. */
  refuseButton(text: string, attributes: object, answer: Answer): HTMLButtonElement;
}

/** Questions are asked one after the other. */
let previous: Promise<unknown> = Promise.resolve();

/** Asks the person. Rejected with the signal's reason when that fires. */
export function askPerson<Answer>(question: Question<Answer>, signal: AbortSignal): Promise<Answer> {
  // Page tools wait from now on, and not only when it is this question's turn.
  const close = openQuestion(question.text);
  const answer = previous.then(() => new OpenSurface(question, signal).answer).finally(close);
  previous = answer.catch(() => {});
  return answer;
}

class OpenSurface<Answer> implements Surface<Answer> {
  readonly answer: Promise<Answer>;
  readonly #question: Question<Answer>;
  readonly #end = new AbortController();
  /** What a click on each button does, and Enter in each field. */
  readonly #clicks = new Map<Element, (event: Event) => void>();
  readonly #enters = new Map<Element, (event: Event) => void>();
  #shown: ShownDialog | undefined;
  #settle!: (answer: Answer) => void;

  constructor(question: Question<Answer>, signal: AbortSignal) {
    signal.throwIfAborted();
    this.#question = question;
    const view = outermostWindow();
    this.answer = new Promise<Answer>((resolve, reject) => {
      const end = <Value>(settle: (value: Value) => void) => (value: Value) => {
        this.#end.abort();
        this.#shown?.close();
        settle(value);
      };
      this.#settle = end(resolve);
      const until = { signal: this.#end.signal };
      signal.addEventListener("abort", () => end(reject)(signal.reason), until);
      // What is shown in another window would stay when this one goes away. Nobody has answered it.
      const leave = () => this.#shown?.view !== window && end(reject)(new Error("the window that asks has gone away"));
      addEventListener("pagehide", leave, until);
    });
    if (view.parent === view) this.#show(view, question.create(this));
    else this.#show(view, this.#createOpener(view));
  }

  answerButton(text: string, attributes: object, answer: () => Answer | undefined): HTMLButtonElement {
    const button = createElement("button", { type: "button", ...attributes }, [text]);
    this.#clicks.set(button, (event) => {
      // Some browsers do not focus a button that is clicked.
      button.focus({ preventScroll: true });
      this.#takeAnswer(event, button, answer);
    });
    return button;
  }

  answersByEnter(field: HTMLElement, button: HTMLButtonElement, answer: () => Answer | undefined): void {
    this.#enters.set(field, (event) => {
      button.scrollIntoView({ block: "nearest" });
      this.#takeAnswer(event, button, answer);
    });
  }

  refuseButton(text: string, attributes: object, answer: Answer): HTMLButtonElement {
    const button = createElement("button", { type: "button", ...attributes }, [text]);
    this.#clicks.set(button, (event) => this.#refuse(event, answer));
    return button;
  }

  /** An event of the dialog that the window has caught. `target` is what it is for. */
  #onEvent(event: Event, target: Element | null): void {
    if (event.type === "click") return this.#clicks.get(target?.closest("button") as Element)?.(event);
    const { key, isComposing, shiftKey, repeat } = event as KeyboardEvent;
    const enter = event.type === "keydown" && key === "Enter" && !isComposing && !shiftKey && this.#enters.get(target!);
    if (!enter) return;
    event.preventDefault();
    // A key that is held was pressed for something else.
    if (!repeat) enter(event);
  }

  #takeAnswer(event: Event, button: HTMLElement, answer: () => Answer | undefined): void {
    if (!event.isTrusted || !this.#shown?.isInFront(button)) return;
    const value = answer();
    if (value !== undefined) this.#settle(value);
  }

  #refuse(event: Event, answer: Answer): void {
    if (event.isTrusted && this.#shown?.isVisible()) this.#settle(answer);
  }

  #show(view: Window, dialog: HTMLDialogElement): void {
    this.#shown?.close();
    const { kind, css, cancelled } = this.#question;
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#refuse(event, cancelled);
    });
    const onEvent = (event: Event, target: Element | null) => this.#onEvent(event, target);
    this.#shown = new ShownDialog(view, dialog, kind, css, onEvent, () => this.#settle(cancelled));
  }

  /** Creates the dialog in a frame of another origin, whose page may draw over it: it only opens a window. */
  #createOpener(view: Window): HTMLDialogElement {
    const { text, frame, cancelled } = this.#question;
    const open = createElement("button", { type: "button", class: "accept" }, [frame.open]);
    this.#clicks.set(open, ({ isTrusted }) => {
      const opened = isTrusted && view.open("", "", WINDOW_FEATURES);
      if (!opened) return;
      opened.document.title = text;
      this.#show(opened, this.#question.create(this));
    });
    return createElement("dialog", { role: "alertdialog", "aria-labelledby": "title", "aria-describedby": "message" }, [
      createElement("h2", { id: "title" }, [text]),
      createElement("p", { id: "message" }, [frame.explanation]),
      createElement("div", { class: "buttons" }, [this.refuseButton(frame.decline, { autofocus: "" }, cancelled), open]),
    ]);
  }
}

/** A dialog in a window. */
class ShownDialog {
  readonly view: Window;
  readonly #dialog: HTMLDialogElement;
  readonly #host: HTMLElement;
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
    this.#focused = document.activeElement as HTMLElement | null;
    this.#host = document.importNode(createElement("div", { "data-mcp-web": kind, "data-mcp-person": "" }));
    // A page that has no colour scheme of its own gets the one that the person prefers.
    const scheme = view.getComputedStyle(document.documentElement).colorScheme;
    const shown = !scheme || scheme === "normal" ? "light dark" : scheme;
    // Rules of the page for all elements, such as `div { display: none !important }`, do not apply.
    this.#host.style.cssText = `all: initial !important; display: contents !important; color-scheme: ${shown} !important`;
    this.#root = this.#host.attachShadow({ mode: "closed" });
    const sheet = new (view as Window & typeof globalThis).CSSStyleSheet();
    sheet.replaceSync(css);
    this.#root.adoptedStyleSheets = [sheet];
    this.#root.append(dialog);
    const { signal } = this.#end;
    document.addEventListener("visibilitychange", () => this.#look(), { signal });
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
    this.#show(document.body);
    this.#timer = setInterval(() => (view.closed ? onWindowClosed() : this.#check()), CHECK_MS);
  }

  /** Whether the person has had the time to see the dialog. */
  isVisible(): boolean {
    return performance.now() - this.#visibleSince >= MIN_VISIBLE_MS;
  }

  /** Whether the person can see the dialog, and nothing is in front of this button. */
  isInFront(button: Element): boolean {
    const { document } = this.view;
    return this.isVisible() && document.hasFocus() && this.#root.activeElement !== null && this.#isHit(button);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#end.abort();
    this.#dialog.close();
    this.#host.remove();
    if (this.view !== outermostWindow()) return this.view.close();
    if (this.view.document.activeElement !== this.#focused) this.#focused?.focus?.({ preventScroll: true });
  }

  /** Returns what an event is for, which is not visible outside of the shadow root. */
  #targetOf(event: Event): Element | null {
    const { clientX = 0, clientY = 0, detail } = event as MouseEvent;
    const hit = event.type === "click" && detail ? this.#root.elementFromPoint(clientX, clientY) : null;
    return hit ?? this.#root.activeElement;
  }

  #show(parent: HTMLElement): void {
    if (this.#host.parentElement !== parent) parent.append(this.#host);
    this.#dialog.close();
    // With styles in between, the button is grey anew.
    this.#dialog.getBoundingClientRect();
    this.#dialog.showModal();
    this.#look();
  }

  #look(): void {
    this.#visibleSince = this.view.document.visibilityState === "visible" ? performance.now() : Infinity;
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
    if (document.visibilityState === "visible" && !this.#hit(this.#dialog)?.matches("[data-mcp-web]")) this.#show(document.documentElement);
  }

  /** Whether the centre of an element of the dialog is what a mouse hits there. */
  #isHit(element: Element): boolean {
    return this.#hit(element) === this.#host && element.contains(this.#hit(element, this.#root));
  }

  #hit(element: Element, root: DocumentOrShadowRoot = this.view.document): Element | null {
    const { x, y, width, height } = element.getBoundingClientRect();
    return root.elementFromPoint(x + width / 2, y + height / 2);
  }
}

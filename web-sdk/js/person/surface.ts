/**
 * The surface on which the person at the page answers: all questions of the SDK are shown here, and only the person's own
 * events answer them. It is a modal dialog in a closed shadow root, so that scripts and page tools can neither find nor use
 * its content. Page tools wait while it is open.
 *
 * An answer counts if the browser marks the event as the person's (`isTrusted`), the dialog has been visible for half a
 * second, nothing is in front of the button, and the window has the focus. In a frame of another origin, whose page could
 * draw over the dialog, it is shown in a separate window.
 */

import { createElement } from "../dialog/element.ts";
import { invoke, write } from "../dom/native.ts";
import { outermostWindow } from "./outermost-window.ts";
import { ShownDialog } from "./shown-dialog.ts";
import { openQuestion } from "./tab.ts";

/** The size of a window that shows the dialog. */
const WINDOW_FEATURES = "popup,width=560,height=700";

/** A question to the person, with answers of some type. */
export interface Question<Answer> {
  /** The question in a short text. */
  text: string;
  /** The kind of the question, for the styles and tests of the app: the value of `data-mcp-web` of the host element. */
  kind: string;
  /** The style sheet of the dialog. */
  css: string;
  /** Creates the dialog. */
  create(surface: Surface<Answer>): HTMLDialogElement;
  /** The answer for a person who closes the dialog. */
  cancelled: Answer;
  /** The texts for a person in a frame of another origin. */
  frame: FrameStrings;
}

/** The texts of the dialog that opens a window. */
export interface FrameStrings {
  explanation: string;
  open: string;
  decline: string;
}

/** The operations of a dialog. */
export interface Surface<Answer> {
  /** Creates a button that answers, if the event counts. The function may return nothing; the dialog then stays open. */
  answerButton(text: string, attributes: object, answer: () => Answer | undefined): HTMLButtonElement;
  /** Makes Enter in a field answer like the button. */
  answersByEnter(field: HTMLElement, button: HTMLButtonElement, answer: () => Answer | undefined): void;
  /** Creates a button that refuses. It also works when covered. */
  refuseButton(text: string, attributes: object, answer: Answer): HTMLButtonElement;
}

/** Questions are asked one at a time. */
let previous: Promise<unknown> = Promise.resolve();

/** Asks the person. Rejected with the signal's reason when the signal fires. */
export function askPerson<Answer>(question: Question<Answer>, signal: AbortSignal): Promise<Answer> {
  // Page tools wait from now on, and not only while this question is shown.
  const close = openQuestion(question.text);
  const answer = previous.then(() => new OpenSurface(question, signal).answer).finally(close);
  previous = answer.catch(() => {});
  return answer;
}

class OpenSurface<Answer> implements Surface<Answer> {
  readonly answer: Promise<Answer>;
  readonly #question: Question<Answer>;
  readonly #end = new AbortController();
  /** The effect of a click on each button, and of Enter in each field. */
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
      // A dialog in another window would stay when this window closes, so the question ends without an answer.
      const leave = () => this.#shown?.view !== window && end(reject)(new Error("the window that asks has gone away"));
      addEventListener("pagehide", leave, until);
    });
    if (view.parent === view) this.#show(view, question.create(this));
    else this.#show(view, this.#createOpener(view));
  }

  answerButton(text: string, attributes: object, answer: () => Answer | undefined): HTMLButtonElement {
    const button = createElement("button", { type: "button", ...attributes }, [text]);
    this.#clicks.set(button, (event) => {
      // Some browsers do not focus a clicked button.
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

  /** Handles an event of the dialog that the window has caught. `target` is its target. */
  #onEvent(event: Event, target: Element | null): void {
    if (event.type === "click") return void (target && this.#clicks.get(invoke(target, "closest", "button") as Element)?.(event));
    const { key, isComposing, shiftKey, repeat } = event as KeyboardEvent;
    const enter = event.type === "keydown" && key === "Enter" && !isComposing && !shiftKey && this.#enters.get(target!);
    if (!enter) return;
    event.preventDefault();
    // A key that is held down was pressed for something else.
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

  /** Creates the dialog for a frame of another origin, whose page may draw over it: the dialog only opens a window. */
  #createOpener(view: Window): HTMLDialogElement {
    const { text, frame, cancelled } = this.#question;
    const open = createElement("button", { type: "button", class: "accept" }, [frame.open]);
    this.#clicks.set(open, ({ isTrusted }) => {
      const opened = isTrusted && view.open("", "", WINDOW_FEATURES);
      if (!opened) return;
      write(opened.document, "title", text);
      this.#show(opened, this.#question.create(this));
    });
    return createElement("dialog", { role: "alertdialog", "aria-labelledby": "title", "aria-describedby": "message" }, [
      createElement("h2", { id: "title" }, [text]),
      createElement("p", { id: "message" }, [frame.explanation]),
      createElement("div", { class: "buttons" }, [this.refuseButton(frame.decline, { autofocus: "" }, cancelled), open]),
    ]);
  }
}

/** Shows a question, its answer, its state, and its buttons. */

import { createElement } from "../dialog/element.ts";
import { read } from "../dom/native.ts";
import { visibleText } from "../text/visible-text.ts";
import { AnswerView, type ViewContext, createButton } from "./answer-view.ts";
import { type Turn, answerText, isOver } from "./turn.ts";

/** How long a button shows that it has copied the text, in milliseconds. */
const COPIED_MS = 2000;

export interface TurnContext extends ViewContext {
  onRetry(): void;
  /** Announces a text to screen readers. */
  announce(text: string): void;
}

export class TurnView {
  readonly element: HTMLElement;
  readonly #context: TurnContext;
  readonly #answer: AnswerView;
  readonly #end = createElement("div", { class: "answer" });
  #shown: Turn | undefined;
  #isLast: boolean | undefined;

  constructor(turn: Turn, context: TurnContext) {
    this.#context = context;
    this.#answer = new AnswerView(context);
    this.element = createElement("article", { class: "turn", part: "turn", "aria-label": visibleText(turn.label) }, [
      createQuestion(turn, context),
      this.#answer.element,
      this.#end,
    ]);
  }

  /** `isLast`: only the last question can be asked again. */
  show(turn: Turn, isLast: boolean): void {
    const isChanged = turn.state !== this.#shown?.state || isLast !== this.#isLast;
    if (turn.blocks !== this.#shown?.blocks) this.#answer.show(turn.blocks);
    this.#shown = turn;
    this.#isLast = isLast;
    if (!isChanged) return;
    read(this.element, "dataset")["state"] = turn.state;
    this.#answer.element.setAttribute("aria-busy", String(!isOver(turn)));
    this.#end.replaceChildren(...this.#createEnd(turn, isLast));
  }

  #createEnd(turn: Turn, isLast: boolean): HTMLElement[] {
    const { strings, onRetry } = this.#context;
    const { state, error } = turn;
    const text = answerText(turn);
    const parts: (HTMLElement | false)[] = [];
    if (!isOver(turn)) parts.push(createState(strings[state as "waiting" | "running"], true));
    if (state === "cancelled" || (state === "complete" && !text)) parts.push(createState(strings[state === "complete" ? "done" : state], false));
    if (error) {
      parts.push(createElement("p", { class: "failure", part: "failure", dir: "auto" }, [strings.failure(error)]));
      parts.push(createElement("p", { class: "details" }, [error.code ? `${error.message} (${error.code})` : error.message]));
    }
    const canCopy = isOver(turn) && text && navigator.clipboard;
    const canRetry = isLast && (state === "failed" || state === "cancelled");
    if (canCopy || canRetry) {
      const retry = canRetry ? createButton("retry", strings.retry, onRetry) : undefined;
      const copy = canCopy ? this.#createCopy(text) : undefined;
      parts.push(createElement("div", { class: "row", part: "actions" }, [retry, copy]));
    }
    return parts.filter((part) => part !== false);
  }

  #createCopy(text: string): HTMLButtonElement {
    const { strings, announce } = this.#context;
    const button = createButton("copy", strings.copy, async () => {
      // The browser may forbid it, for example in a frame.
      const outcome = await navigator.clipboard.writeText(text).then(() => strings.copied, () => strings.copyFailed);
      button.textContent = outcome;
      announce(outcome);
      setTimeout(() => (button.textContent = strings.copy), COPIED_MS);
    });
    return button;
  }
}

function createState(text: string, isRunning: boolean): HTMLElement {
  const icon = isRunning ? createElement("span", { class: "icon", "aria-hidden": "true" }) : undefined;
  return createElement("p", { class: "state", part: "state" }, [icon, text]);
}

/** If the prompt differs from the text that the person has read, it can be expanded. */
function createQuestion({ label, prompt }: Turn, { strings }: TurnContext): HTMLElement {
  const hidden = createElement("span", { class: "hidden" }, [`${strings.question} `]);
  const details =
    prompt === label
      ? undefined
      : createElement("details", { part: "prompt" }, [
          createElement("summary", {}, [strings.prompt]),
          createElement("pre", { tabindex: 0 }, [visibleText(prompt)]),
        ]);
  return createElement("div", { class: "question", part: "question" }, [createElement("p", { dir: "auto" }, [hidden, visibleText(label)]), details]);
}

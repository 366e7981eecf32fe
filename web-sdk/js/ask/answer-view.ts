/**
 * Shows the parts of an answer. An element lives as long as its part, so that the layout does not jump and selections are
 * kept.
 */

import { createElement } from "../dialog/element.ts";
import { visibleText } from "../text/visible-text.ts";
import type { CompleteAskStrings } from "./strings.ts";
import type { TextRenderer } from "./text-renderer.ts";
import type { AnswerBlock, TurnCall } from "./turn.ts";

/** The context of the parts of an answer. */
export interface ViewContext {
  readonly strings: CompleteAskStrings;
  readonly renderer: TextRenderer;
}

/** A part of an answer. */
interface BlockView {
  readonly kind: AnswerBlock["kind"];
  readonly element: HTMLDetailsElement | HTMLDivElement | HTMLParagraphElement | HTMLUListElement;
  show(block: AnswerBlock): void;
}

/** All parts of an answer, in order. */
export class AnswerView {
  readonly element = createElement("div", { class: "answer", part: "answer" });
  readonly #context: ViewContext;
  #views: BlockView[] = [];

  constructor(context: ViewContext) {
    this.#context = context;
  }

  show(blocks: readonly AnswerBlock[]): void {
    const { element } = this;
    for (const { element } of this.#views.splice(blocks.length)) element.remove();
    blocks.forEach((block, index) => {
      let view = this.#views[index];
      if (view?.kind !== block.kind) {
        const created = createView(block.kind, this.#context);
        view ? view.element.replaceWith(created.element) : element.append(created.element);
        view = this.#views[index] = created;
      }
      view.show(block);
    });
  }
}

function createView(kind: AnswerBlock["kind"], context: ViewContext): BlockView {
  if (kind === "calls") return new CallsView(context);
  if (kind === "text") return createTextView(context);
  if (kind === "thinking") return createThinkingView(context);
  return createNoteView();
}

function createTextView({ renderer }: ViewContext): BlockView {
  const element = createElement("div", { class: "text", part: "text" });
  const render = renderer.create(element);
  return { kind: "text", element, show: (block) => render(textOf(block)) };
}

function createThinkingView({ strings }: ViewContext): BlockView {
  const text = createElement("p", { dir: "auto" });
  const element = createElement("details", { class: "thinking", part: "thinking" }, [
    createElement("summary", {}, [strings.thinking]),
    text,
  ]);
  return { kind: "thinking", element, show: (block) => (text.textContent = visibleText(textOf(block))) };
}

function createNoteView(): BlockView {
  const element = createElement("p", { class: "note", part: "note", dir: "auto" });
  return { kind: "note", element, show: (block) => (element.textContent = textOf(block)) };
}

const textOf = (block: AnswerBlock): string => ("text" in block ? block.text.trim() : "");

/** Tools that are called sequentially or in parallel. */
class CallsView implements BlockView {
  readonly kind = "calls";
  readonly element = createElement("ul", { class: "calls", part: "calls" });
  readonly #context: ViewContext;
  readonly #shown = new Map<string, { call: TurnCall; item: HTMLLIElement }>();

  constructor(context: ViewContext) {
    this.#context = context;
  }

  show(block: AnswerBlock): void {
    const calls = "calls" in block ? block.calls : [];
    for (const call of calls) {
      const shown = this.#shown.get(call.id);
      if (shown && isSame(shown.call, call)) continue;
      const item = shown?.item ?? createElement("li", { class: "call", part: "call" });
      item.dataset["state"] = call.state;
      const isOpen = item.querySelector("details")?.open;
      item.replaceChildren(...this.#parts(call));
      if (isOpen) item.querySelector("details")?.setAttribute("open", "");
      if (!shown) this.element.append(item);
      this.#shown.set(call.id, { call, item });
    }
  }

  #parts(call: TurnCall): HTMLElement[] {
    const { strings } = this.#context;
    const name = strings.tool(call.tool, call.source);
    const input = createElement("pre", { dir: "ltr", tabindex: 0 }, [visibleText(JSON.stringify(call.arguments ?? {}, null, 2))]);
    // The dialog that asks the person is in front.
    if (call.state === "waiting") {
      const question = [createElement("p", {}, [strings.approval(name)])];
      if (call.source !== undefined) question.push(createElement("p", { class: "note" }, [strings.sourceTool(call.source)]));
      return [...question, input];
    }
    const summary = createElement("summary", {}, [
      createElement("span", { class: "icon", "aria-hidden": "true" }),
      createElement("code", {}, [name]),
      createElement("span", { class: "hidden" }, [`, ${strings.callState(call.state)}`]),
      call.error ? createElement("span", { class: "error" }, [call.error]) : undefined,
    ]);
    const details = createElement("details", {}, [summary, input]);
    // The person already sees the result of a page's tool in the page.
    if (call.result !== undefined) {
      details.append(createElement("p", {}, [strings.result]), createElement("pre", { dir: "auto", tabindex: 0 }, [call.result]));
    }
    return [details];
  }
}

/** The arguments of a call are the same objects until they change. */
const isSame = (a: TurnCall, b: TurnCall): boolean => a.state === b.state && a.error === b.error && a.arguments === b.arguments;

/** Creates a button that only the person can press. Its part is the name of its action. */
export function createButton(name: string, text: string, onClick: () => void): HTMLButtonElement {
  const button = createElement("button", { type: "button", class: name, part: `button ${name}` }, [text]);
  button.addEventListener("click", ({ isTrusted }) => isTrusted && onClick());
  return button;
}

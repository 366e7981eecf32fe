/** Shows a question and its answer as it comes. Elements stay as long as their part of the answer does. */

import { explained } from "./ask-failures.js";
import { isOver } from "./asking.js";
import { durationText } from "./dates.js";
import { byId, h, icon, placeChildren, setText } from "./dom.js";

const STATE_WORDS = { waiting: "Waiting for the agent", running: "Working", complete: "Done", failed: "Failed", cancelled: "Cancelled" };
const STATE_ICONS = { waiting: "running", running: "running", complete: "done", failed: "failed", cancelled: "cancelled" };
const CALL_WORDS = { running: "running", done: "ok", failed: "failed", cancelled: "cancelled" };

/** So near to the end counts as at the end: what comes is followed. */
const NEAR_PX = 24;

export class AskView {
  #slip = byId("ask-slip");
  #body = byId("ask-body");
  #lines = byId("ask-lines");
  #answer = byId("ask-answer");
  #blocks = [];
  #shown;

  /** @param {import("./asking.js").Asked} question */
  show(question) {
    const follows = this.#body.scrollHeight - this.#body.scrollTop - this.#body.clientHeight < NEAR_PX;
    this.#slip.hidden = false;
    this.#slip.dataset.state = question.state;
    setText(byId("ask-title"), question.title);
    this.#showState(question);
    this.#lines.hidden = !question.lines;
    setText(byId("ask-lines-text"), question.lines ?? "");
    this.#showBlocks(question);
    if (follows) this.#body.scrollTop = this.#body.scrollHeight;
  }

  hide() {
    this.#slip.hidden = true;
    this.#blocks = [];
    this.#answer.replaceChildren();
  }

  #showState(question) {
    const { state, durationMs } = question;
    const words = state === "complete" ? `Done in ${durationText(durationMs)}` : STATE_WORDS[state];
    if (this.#shown !== state) byId("ask-state").replaceChildren(icon(STATE_ICONS[state]), h("span", { id: "ask-state-text" }));
    this.#shown = state;
    setText(byId("ask-state-text"), words);
    setText(byId("ask-stop"), isOver(question) ? "Close" : "Cancel");
  }

  #showBlocks({ blocks, plan, error }) {
    this.#blocks = blocks.map((block, index) => {
      const known = this.#blocks[index];
      const view = known?.kind === block.kind ? known : VIEWS[block.kind]();
      view.show(block);
      return view;
    });
    const end = [plan && planView(plan), error && failureView(error)].filter(Boolean);
    placeChildren(this.#answer, [...this.#blocks.map(({ element }) => element), ...end]);
  }
}

const VIEWS = {
  text: () => textView("text", h("p", { className: "ask-text" })),
  note: () => textView("note", h("p", { className: "ask-note" })),
  thinking: () => {
    const text = h("p", {});
    return { ...textView("thinking", text), element: h("details", { className: "ask-thinking" }, h("summary", {}, "What it thought"), text) };
  },
  calls: () => new CallsView(),
};

const textView = (kind, element) => ({ kind, element, show: ({ text }) => setText(element, text.trim()) });

/** Tools that are called one after the other or side by side, each as a chip. */
class CallsView {
  kind = "calls";
  element = h("ul", { className: "ask-calls", "aria-label": "Tools that were called" });
  #chips = new Map();

  show({ calls }) {
    placeChildren(this.element, calls.map((call) => this.#chipOf(call)));
  }

  #chipOf(call) {
    const chip = this.#chips.get(call.id) ?? h("li", { className: "chip" });
    this.#chips.set(call.id, chip);
    if (chip.dataset.state === call.state) return chip;
    chip.dataset.state = call.state;
    chip.title = JSON.stringify(call.input ?? {});
    chip.replaceChildren(
      icon(call.state),
      h("code", {}, call.tool),
      h("span", { className: "visually-hidden" }, `, ${CALL_WORDS[call.state]}`),
      call.error ? h("span", { className: "chip-error" }, call.error) : "",
    );
    return chip;
  }
}

const planView = ({ today, reason }) =>
  h("div", { className: "ask-plan" }, reason && h("p", { className: "ask-text" }, reason), h("ol", {}, today.map((title) => h("li", {}, title))));

function failureView(error) {
  const { meaning, advice, detail } = explained(error);
  return h(
    "div",
    { className: "ask-failure" },
    h("p", { className: "ask-failure-title" }, `${meaning}.`),
    h("p", {}, advice),
    h("p", { className: "ask-detail" }, detail),
  );
}

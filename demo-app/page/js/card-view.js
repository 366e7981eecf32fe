/** The element of one card, which lives as long as the card. */

import { COLUMNS, isOverdue, labelTitle } from "./board.js";
import { dueText, isoDate } from "./dates.js";
import { h, icon, setText } from "./dom.js";

/** How long a card shows which AI client changed it. */
const MARK_MS = 60_000;

const VERB = { added: "Added", moved: "Moved", updated: "Changed", restored: "Restored" };

export class CardView {
  #title = h("span", { className: "card-title-text" });
  #label = h("span", { className: "card-label" });
  #due = h("time", { className: "card-due" });
  #head = h("div", { className: "card-head" }, this.#label, this.#due);
  #note = h("p", { className: "card-note" });
  #touch = h("p", { className: "card-touch", hidden: true });
  #open;
  #moves;
  #unmark;

  /**
   * @param {string} id
   * @param {{ edit: Function, remove: Function, move: Function }} actions
   */
  constructor(id, actions) {
    this.#open = h(
      "button",
      { type: "button", className: "card-open", onclick: () => actions.edit(id) },
      this.#title,
    );
    this.#moves = ["left", "up", "down", "right"].map((where) =>
      h("button", { type: "button", className: "card-tool", dataset: { move: where }, onclick: () => actions.move(id, where) }, icon(where)),
    );
    const remove = h(
      "button",
      { type: "button", className: "card-tool card-remove", "aria-label": "Remove", title: "Remove (Delete)", onclick: () => actions.remove(id) },
      icon("remove"),
    );
    this.element = h(
      "li",
      { className: "card", draggable: true, dataset: { cardId: id } },
      this.#head,
      h("h3", { className: "card-title" }, this.#open),
      this.#note,
      this.#touch,
      h(
        "div",
        { className: "card-foot" },
        h("span", { className: "card-id" }, id),
        h("div", { className: "card-tools", role: "group", "aria-label": "Move or remove" }, this.#moves, remove),
      ),
    );
  }

  focus() {
    this.#open.focus();
  }

  /** @param {import("./board.js").Card} card */
  show(card) {
    const now = new Date();
    setText(this.#title, card.title);
    setText(this.#label, labelTitle(card.label));
    setText(this.#note, card.note);
    setText(this.#due, card.due && dueText(card.due, now));
    this.#due.dateTime = card.due;
    this.#due.classList.toggle("is-overdue", isOverdue(card, isoDate(now)));
    this.#head.hidden = card.label === "" && card.due === "";
    this.#note.hidden = card.note === "";
    this.element.dataset.label = card.label;
    this.element.dataset.done = String(card.column === "done");
    this.#showMoves(card);
  }

  /**
   * Shows the actor of a change: a marker over the title if it was an AI client.
   *
   * @param {import("./store.js").Change} change
   */
  mark({ kind, actor }) {
    clearTimeout(this.#unmark);
    this.element.classList.remove("is-touched");
    this.#touch.hidden = true;
    if (actor.kind !== "client") return;
    setText(this.#touch, `${VERB[kind]} by ${actor.name}`);
    this.#touch.hidden = false;
    void this.element.offsetWidth; // restarts the animation on a card that is already marked
    this.element.classList.add("is-touched");
    this.#unmark = setTimeout(() => this.mark({ kind, actor: { kind: "person" } }), MARK_MS);
  }

  /** Arrows without a target stay focusable, because removing a focused button would lose the focus. */
  #showMoves(card) {
    const index = COLUMNS.findIndex(({ id }) => id === card.column);
    const names = {
      left: COLUMNS[index - 1] && `Move to ${COLUMNS[index - 1].title}`,
      right: COLUMNS[index + 1] && `Move to ${COLUMNS[index + 1].title}`,
      up: "Move up",
      down: "Move down",
    };
    for (const button of this.#moves) {
      const where = button.dataset.move;
      button.setAttribute("aria-disabled", String(!names[where]));
      button.setAttribute("aria-label", names[where] ?? `No column to the ${where}`);
      button.title = names[where] ? `${names[where]} (Shift + ${where} arrow)` : "";
    }
  }
}

/** The dialog that edits one card. It sends only the changed fields, as `update_card` does. */

import { LABELS } from "./board.js";
import { byId, h, setText } from "./dom.js";
import { PERSON } from "./store.js";

const FIELDS = ["title", "note", "label", "due"];

export class CardEditor {
  #dialog = byId("card-editor");
  #form = byId("card-editor-form");
  #problem = byId("card-editor-problem");
  #store;
  #card;

  /**
   * @param {import("./store.js").BoardStore} store
   * @param {{ remove: (id: string) => void, closed: (card: import("./board.js").Card) => void }} actions
   */
  constructor(store, { remove, closed }) {
    this.#store = store;
    byId("card-editor-labels").append(...[...LABELS, { id: "", title: "None" }].map(labelChoice));
    this.#form.addEventListener("submit", (event) => this.#save(event));
    byId("card-editor-remove").addEventListener("click", () => this.#dialog.close("remove"));
    byId("card-editor-cancel").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
    this.#dialog.addEventListener("close", () => {
      if (this.#dialog.returnValue === "remove") remove(this.#card.id);
      else closed(this.#card);
    });
  }

  open(id) {
    this.#card = this.#store.board.cards.find((card) => card.id === id);
    for (const field of FIELDS) this.#form.elements[field].value = this.#card[field];
    setText(byId("card-editor-id"), id);
    setText(this.#problem, "");
    this.#dialog.returnValue = "";
    this.#dialog.showModal();
  }

  #save(event) {
    event.preventDefault();
    const entered = FIELDS.map((field) => [field, this.#form.elements[field].value]);
    const changes = entered.filter(([field, value]) => value !== this.#card[field]);
    try {
      if (changes.length > 0) this.#store.update(this.#card.id, Object.fromEntries(changes), PERSON);
      this.#dialog.close();
    } catch (error) {
      setText(this.#problem, error.message);
    }
  }
}

function labelChoice({ id, title }) {
  return h(
    "label",
    { className: "label-choice", dataset: { label: id } },
    h("input", { type: "radio", name: "label", value: id }),
    h("span", {}, title),
  );
}

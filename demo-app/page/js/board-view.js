/**
 * Shows the board, and turns the person's actions into calls of the store.
 *
 * A card element lives as long as its card. A change moves and updates it, so that focus, hover and running animations are
 * preserved.
 */

import { COLUMNS, cardsIn } from "./board.js";
import { CardView } from "./card-view.js";
import { enableCardDragging } from "./card-dragging.js";
import { enableCardKeys } from "./card-keys.js";
import { byId, keepingFocus, placeChildren, setText } from "./dom.js";
import { slideFrom, whereAre } from "./motion.js";
import { PERSON } from "./store.js";

export class BoardView {
  #root = byId("board");
  #store;
  #views = new Map();
  #actions;

  /**
   * @param {import("./store.js").BoardStore} store
   * @param {{ edit: (id: string) => void, remove: (id: string) => void }} actions
   */
  constructor(store, actions) {
    this.#store = store;
    this.#actions = { ...actions, move: (id, where) => this.#move(id, where) };
    for (const { id } of COLUMNS) this.#enableAdding(id);
    enableCardDragging(this.#root, (id, column, position) =>
      store.move(id, column, position, PERSON),
    );
    enableCardKeys(this.#root, this.#actions);
    store.subscribe((change) => this.#show(change));
    this.#show();
  }

  /** Focuses a card. If it is gone, focuses the card at its position, or the column's button. */
  focusCard(id, column, position = 0) {
    const cards = cardsIn(this.#store.board, column);
    const view = this.#views.get(id) ?? this.#views.get(cards.at(position)?.id ?? cards.at(-1)?.id);
    if (view) view.focus();
    else this.#column(column).querySelector(".add-open").focus();
  }

  #show(change) {
    const before = whereAre(this.#root.querySelectorAll("[data-card-id]"));
    const { board } = this.#store;
    for (const card of board.cards) this.#viewOf(card).show(card);
    keepingFocus(() => {
      for (const { id } of COLUMNS) this.#showColumn(id, cardsIn(board, id));
    });
    this.#forget(board);
    slideFrom(before);
    if (change && change.kind !== "removed") this.#views.get(change.card.id)?.mark(change);
  }

  #showColumn(id, cards) {
    const column = this.#column(id);
    placeChildren(
      column.querySelector(".cards"),
      cards.map((card) => this.#views.get(card.id).element),
    );
    setText(column.querySelector(".column-count"), String(cards.length));
    column.classList.toggle("is-empty", cards.length === 0);
  }

  #viewOf(card) {
    const known = this.#views.get(card.id);
    if (known) return known;
    const view = new CardView(card.id, this.#actions);
    this.#views.set(card.id, view);
    return view;
  }

  #forget(board) {
    const alive = new Set(board.cards.map((card) => card.id));
    for (const id of this.#views.keys()) if (!alive.has(id)) this.#views.delete(id);
  }

  #column(id) {
    return this.#root.querySelector(`[data-column="${id}"]`);
  }

  /** @param {"left" | "right" | "up" | "down"} where */
  #move(id, where) {
    const { board } = this.#store;
    const card = board.cards.find((candidate) => candidate.id === id);
    const columnIndex = COLUMNS.findIndex((column) => column.id === card.column);
    const neighbour = COLUMNS[columnIndex + { left: -1, right: 1 }[where]];
    const place = cardsIn(board, card.column).indexOf(card) + { up: -1, down: 1 }[where];
    if (neighbour) this.#store.move(id, neighbour.id, undefined, PERSON);
    else if (place >= 0 && place < cardsIn(board, card.column).length) {
      this.#store.move(id, card.column, place, PERSON);
    }
    this.#views.get(id).element.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #enableAdding(id) {
    const column = this.#column(id);
    const open = column.querySelector(".add-open");
    const form = column.querySelector(".add-form");
    const title = form.elements.title;
    const problem = form.querySelector(".problem");
    const close = () => {
      form.hidden = true;
      open.hidden = false;
      setText(problem, "");
      form.reset();
      open.focus();
    };
    open.addEventListener("click", () => {
      form.hidden = false;
      open.hidden = true;
      title.focus();
    });
    form.addEventListener("keydown", (event) => event.key === "Escape" && close());
    form.querySelector(".add-close").addEventListener("click", close);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      try {
        this.#store.add({ title: title.value, column: id }, PERSON);
        form.reset();
        setText(problem, "");
        form.scrollIntoView({ block: "nearest" });
      } catch (error) {
        setText(problem, error.message);
      }
      title.focus();
    });
  }
}

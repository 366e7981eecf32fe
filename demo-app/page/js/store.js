/**
 * The board of this page: people and AI clients change it through the same methods.
 *
 * Every change has an actor, so that the view can mark changes by AI clients. The board is stored in localStorage and
 * follows changes made in other tabs.
 *
 * @typedef {{ kind: "person" } | { kind: "client", name: string }} Actor
 * @typedef {{ kind: "added" | "moved" | "updated" | "removed" | "restored", card: import("./board.js").Card,
 *             position?: number, actor: Actor }} Change  absent when the whole board was replaced
 */

import * as boards from "./board.js";

const KEY = "mcp-web-demo.board";

/** @type {Actor} */
export const PERSON = { kind: "person" };

export class BoardStore {
  #board;
  #storage;
  #listeners = new Set();

  /**
   * @param {boards.Board} initial used if nothing is stored
   * @param {Storage} [storage] where the board is stored; nowhere if absent
   */
  constructor(initial, storage) {
    this.#storage = storage;
    this.#board = boards.parseBoard(read(storage) ?? "") ?? initial;
    if (storage) addEventListener("storage", (event) => this.#followOtherTab(event));
  }

  get board() {
    return this.#board;
  }

  /** @param {(change?: Change) => void} listener called after each change */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  add(fields, actor) {
    return this.#commit("added", boards.addCard(this.#board, fields), actor);
  }

  move(id, column, position, actor) {
    return this.#commit("moved", boards.moveCard(this.#board, id, column, position), actor);
  }

  update(id, changes, actor) {
    return this.#commit("updated", boards.updateCard(this.#board, id, changes), actor);
  }

  remove(id, actor) {
    return this.#commit("removed", boards.removeCard(this.#board, id), actor);
  }

  restore(card, position, actor) {
    return this.#commit("restored", boards.restoreCard(this.#board, card, position), actor);
  }

  replace(board) {
    this.#board = board;
    this.#save();
    this.#tell();
  }

  #commit(kind, { board, card, position }, actor) {
    this.#board = board;
    this.#save();
    this.#tell({ kind, card, position, actor });
    return card;
  }

  #tell(change) {
    for (const listener of this.#listeners) listener(change);
  }

  #save() {
    try {
      this.#storage?.setItem(KEY, JSON.stringify(this.#board));
    } catch {
      // Storage is full or forbidden: the board still works, until the tab is closed.
    }
  }

  #followOtherTab(event) {
    const board = event.key === KEY && boards.parseBoard(event.newValue ?? "");
    if (!board) return;
    this.#board = board;
    this.#tell();
  }
}

function read(storage) {
  try {
    return storage?.getItem(KEY);
  } catch {
    return undefined;
  }
}

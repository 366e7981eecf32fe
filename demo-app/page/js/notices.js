/** Messages to the person: a notice with an undo button on screen, and the actions of AI clients for screen readers. */

import { columnTitle } from "./board.js";
import { byId, h, setText } from "./dom.js";

/** Long enough to read the notice and reach the button. */
const NOTICE_MS = 10_000;

const SENTENCE = {
  added: (card) => `added “${card.title}” to ${columnTitle(card.column)}`,
  moved: (card) => `moved “${card.title}” to ${columnTitle(card.column)}`,
  updated: (card) => `changed “${card.title}”`,
  removed: (card) => `removed “${card.title}”`,
  restored: (card) => `put “${card.title}” back`,
};

/** "Claude Code moved “Redraw the map” to Done" @param {import("./store.js").Change} change */
export function changeText({ kind, card, actor }) {
  const who = actor.kind === "client" ? actor.name.replace(/^an /, "An ") : "You";
  return `${who} ${SENTENCE[kind](card)}`;
}

export function announce(text) {
  setText(byId("announcer"), text);
}

/** Shows one notice at a time; it stays while the pointer or the focus is on it. */
export class Notices {
  #region = byId("notices");
  #timer;

  constructor() {
    for (const type of ["pointerenter", "focusin"]) {
      this.#region.addEventListener(type, () => clearTimeout(this.#timer));
    }
    for (const type of ["pointerleave", "focusout"]) {
      this.#region.addEventListener(type, () => this.#hideLater());
    }
  }

  /** @param {string} text @param {() => void} undo */
  show(text, undo) {
    const back = () => {
      this.#region.replaceChildren();
      undo();
    };
    this.#region.replaceChildren(
      h(
        "div",
        { className: "notice" },
        h("p", {}, text),
        h("button", { type: "button", className: "notice-undo", onclick: back }, "Undo"),
      ),
    );
    this.#hideLater();
  }

  #hideLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#region.replaceChildren(), NOTICE_MS);
  }
}

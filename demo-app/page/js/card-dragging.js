/** Drag and drop of cards, with a line at the place where the card will be dropped. */

import { h } from "./dom.js";

/**
 * @param {HTMLElement} root holds the columns
 * @param {(id: string, column: string, position: number) => void} drop
 */
export function enableCardDragging(root, drop) {
  const line = h("li", { className: "drop-line", "aria-hidden": "true" });
  let dragged;

  const end = () => {
    dragged?.classList.remove("is-dragged");
    root.classList.remove("is-dragging");
    line.remove();
    dragged = undefined;
  };

  root.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.("[data-card-id]");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.querySelector(".card-title").textContent);
    // The browser takes the drag image now, so the card may change its look only afterwards.
    requestAnimationFrame(() => {
      dragged?.classList.add("is-dragged");
      root.classList.add("is-dragging");
    });
  });

  root.addEventListener("dragover", (event) => {
    const column = event.target.closest("[data-column]");
    if (!dragged || !column) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "move";
    const list = column.querySelector(".cards");
    list.insertBefore(line, cardBelow(list, dragged, event.clientY));
  });

  root.addEventListener("drop", (event) => {
    const column = event.target.closest("[data-column]");
    if (!dragged || !column) return;
    event.preventDefault();
    const { cardId } = dragged.dataset;
    const position = cardsBefore(line, dragged);
    end();
    drop(cardId, column.dataset.column, position);
  });

  root.addEventListener("dragend", end);
}

/** Returns the first card whose centre is below the pointer. */
function cardBelow(list, dragged, y) {
  const cards = [...list.querySelectorAll("[data-card-id]")].filter((card) => card !== dragged);
  return cards.find((card) => {
    const { top, height } = card.getBoundingClientRect();
    return y < top + height / 2;
  }) ?? null;
}

function cardsBefore(line, dragged) {
  const siblings = [...(line.parentElement?.children ?? [])].filter((card) => card !== dragged);
  return Math.max(0, siblings.indexOf(line));
}

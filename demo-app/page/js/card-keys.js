/**
 * Keys on the board: arrows move from card to card, Shift and an arrow move the card, Delete removes it. Enter opens it,
 * because its title is a button.
 */

const WHERE = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

/**
 * @param {HTMLElement} root holds the columns
 * @param {{ move: (id: string, where: string) => void, remove: (id: string) => void }} actions
 */
export function enableCardKeys(root, actions) {
  root.addEventListener("keydown", (event) => {
    const card = event.target.closest("[data-card-id]");
    if (!card || event.ctrlKey || event.altKey || event.metaKey) return;
    const where = WHERE[event.key];
    if (where && event.shiftKey) actions.move(card.dataset.cardId, where);
    else if (where) neighbour(card, where)?.querySelector(".card-open").focus();
    else if (event.key === "Delete") actions.remove(card.dataset.cardId);
    else return;
    event.preventDefault();
  });
}

function neighbour(card, where) {
  if (where === "up") return card.previousElementSibling;
  if (where === "down") return card.nextElementSibling;
  const columns = [...document.querySelectorAll("[data-column]")];
  const step = where === "left" ? -1 : 1;
  const row = [...card.parentElement.children].indexOf(card);
  let index = columns.indexOf(card.closest("[data-column]")) + step;
  for (; columns[index]; index += step) {
    const cards = columns[index].querySelectorAll("[data-card-id]");
    if (cards.length > 0) return cards[Math.min(row, cards.length - 1)];
  }
  return undefined;
}

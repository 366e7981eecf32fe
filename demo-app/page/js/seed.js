/** The cards on the board at the first visit: a small magazine on its way to the printer. */

import { addCard, emptyBoard } from "./board.js";
import { isoDate } from "./dates.js";

const CARDS = [
  { column: "todo", label: "words", title: "Write the editor's letter", note: "300 words. Start from the ferry story, end on the question.", dueIn: 6 },
  { column: "todo", label: "post", title: "Collect new subscriber addresses", note: "The bookshop has eleven on paper." },
  { column: "todo", label: "print", title: "Order 120 g uncoated stock", dueIn: 3 },
  { column: "todo", label: "pictures", title: "Find a back-cover photograph" },
  { column: "doing", label: "pictures", title: "Redraw the harbour map", note: "Two inks only: blue and red. Leave room for the legend.", dueIn: 1 },
  { column: "doing", label: "words", title: "Proofread the recipe pages", note: "Check grams against cups on page 14.", dueIn: -1 },
  { column: "done", label: "words", title: "Interview the ferry captain" },
  { column: "done", label: "print", title: "Agree the price with the printer", note: "400 copies, folded and stapled." },
];

/** @param {Date} now due dates are relative to it */
export function seededBoard(now) {
  return CARDS.reduce((board, { dueIn, ...card }) => {
    const due = dueIn === undefined ? "" : isoDate(now, dueIn);
    return addCard(board, { ...card, due }).board;
  }, emptyBoard());
}

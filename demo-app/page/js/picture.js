/** The board as a picture, for a client that cannot look at the page. */

import { COLUMNS, cardsIn, isOverdue, labelTitle } from "./board.js";
import { dueText, isoDate } from "./dates.js";

const WIDTH = 1200;
const MARGIN = 32;
const GAP = 24;
const HEAD = 64;
const CARD_HEIGHT = 92;
const CARD_GAP = 12;
const MAX_ROWS = 12;

const INK = { page: "#eceeea", card: "#ffffff", text: "#15181b", soft: "#5c646a", rule: "#d3d7d1", danger: "#b3261e" };
const LABEL_INK = { words: "#0069b4", pictures: "#d6246e", print: "#00795a", post: "#a85a00" };
const FONT = "system-ui, sans-serif";

/** A line of text and the picture: the SDK turns them into a text block and an image block. */
export function drawnBoard(board, now) {
  const rows = Math.min(MAX_ROWS, Math.max(1, ...COLUMNS.map(({ id }) => cardsIn(board, id).length)));
  const height = 2 * MARGIN + HEAD + rows * (CARD_HEIGHT + CARD_GAP);
  const canvas = new OffscreenCanvas(WIDTH, height);
  const pen = canvas.getContext("2d");
  fill(pen, INK.page, 0, 0, WIDTH, height);
  const width = (WIDTH - 2 * MARGIN - (COLUMNS.length - 1) * GAP) / COLUMNS.length;
  COLUMNS.forEach((column, index) => {
    drawColumn(pen, column, cardsIn(board, column.id), MARGIN + index * (width + GAP), width, now);
  });
  return [`The board on ${isoDate(now)}, ${board.cards.length} cards`, canvas];
}

function drawColumn(pen, { title }, cards, left, width, now) {
  fill(pen, INK.text, left, MARGIN, width, 4);
  write(pen, title, left, MARGIN + 36, { font: `700 20px ${FONT}`, width: width - 60 });
  write(pen, String(cards.length), left + width, MARGIN + 36, { color: INK.soft, align: "right" });
  cards.slice(0, MAX_ROWS).forEach((card, row) => {
    drawCard(pen, card, left, MARGIN + HEAD + row * (CARD_HEIGHT + CARD_GAP), width, now);
  });
}

function drawCard(pen, card, left, top, width, now) {
  fill(pen, INK.rule, left, top, width, CARD_HEIGHT);
  fill(pen, INK.card, left + 1, top + 1, width - 2, CARD_HEIGHT - 2);
  const inner = left + 16;
  const color = LABEL_INK[card.label];
  if (color) fill(pen, color, inner, top, 36, 6);
  write(pen, labelTitle(card.label), inner, top + 30, { color });
  const late = isOverdue(card, isoDate(now));
  const due = card.due && `${late ? "Overdue: " : ""}${dueText(card.due, now)}`;
  write(pen, due, left + width - 16, top + 30, { color: late ? INK.danger : INK.soft, align: "right" });
  write(pen, card.title, inner, top + 56, { font: `600 18px ${FONT}`, width: width - 32 });
  write(pen, card.id, inner, top + 78, { color: INK.soft });
}

function fill(pen, color, left, top, width, height) {
  pen.fillStyle = color;
  pen.fillRect(left, top, width, height);
}

/** Draws one line of text, which ends in … if it does not fit. */
function write(pen, text, x, y, { font = `500 14px ${FONT}`, color = INK.text, align = "left", width = Infinity } = {}) {
  pen.font = font;
  pen.fillStyle = color;
  pen.textAlign = align;
  pen.fillText(shortened(pen, text, width), x, y);
}

function shortened(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 0 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

// The rules, without a page. A board is eight rows of eight squares: `-` for an empty square, `w` and `b` for men, `W` and
// `B` for kings. White moves up.

export const START = ["-b-b-b-b", "b-b-b-b-", "-b-b-b-b", "--------", "--------", "w-w-w-w-", "-w-w-w-w", "w-w-w-w-"];

const colorOf = (square) => ({ w: "white", b: "black" })[square.toLowerCase()];
const at = (board, row, column) => board[row]?.[column] ?? "";

/** Returns the row directions in which a piece can move. */
const directions = (piece) => (piece === "w" ? [-1] : piece === "b" ? [1] : [-1, 1]);

/** Returns the board after a move; the piece becomes a king on the last row. */
export function move(board, { from, to, over }) {
  const squares = board.map((row) => [...row]);
  const piece = squares[from[0]][from[1]];
  squares[from[0]][from[1]] = "-";
  if (over) squares[over[0]][over[1]] = "-";
  squares[to[0]][to[1]] = to[0] === 0 || to[0] === 7 ? piece.toUpperCase() : piece;
  return squares.map((row) => row.join(""));
}

/** Returns the moves of a color. If there are captures, only those, because they are mandatory. */
export function legalMoves(board, color) {
  const steps = [];
  const captures = [];
  board.forEach((row, y) =>
    [...row].forEach((piece, x) => {
      if (colorOf(piece) !== color) return;
      for (const dy of directions(piece)) {
        for (const dx of [-1, 1]) {
          const [near, far] = [at(board, y + dy, x + dx), at(board, y + 2 * dy, x + 2 * dx)];
          if (near === "-") steps.push({ from: [y, x], to: [y + dy, x + dx] });
          const isCapture = colorOf(near) && colorOf(near) !== color && far === "-";
          if (isCapture) captures.push({ from: [y, x], to: [y + 2 * dy, x + 2 * dx], over: [y + dy, x + dx] });
        }
      }
    }),
  );
  return captures.length ? captures : steps;
}

/** Returns whether one move of a color turns the first board into the second. */
export const isLegal = (before, after, color) =>
  legalMoves(before, color).some((candidate) => move(before, candidate).join() === after.join());

import { McpWeb } from "mcp-web-sdk";
import { addStateTools } from "mcp-web-sdk/state";
import { START, isLegal, legalMoves, move } from "./rules.js";

const parameters = new URLSearchParams(location.search);
const mcpWeb = new McpWeb({
  name: "Checkers",
  description: "A game of checkers: the person is white, the AI is black",
  bridgeUrl: parameters.get("bridge") ?? undefined,
});

let game = { board: START, turn: "white" };
/** The board at the start of the current turn. */
let turnStart = START;
let selected;
let note = "";

/** Replaces the game. A caller that ends the turn must have made one legal move. */
function setGame(next) {
  if (next.turn !== game.turn && !isLegal(turnStart, next.board, game.turn)) {
    game = { ...game, board: turnStart };
    render();
    throw new Error(`that is no legal move of ${game.turn}: the board is as it was before it`);
  }
  if (next.turn !== game.turn) turnStart = next.board;
  game = next;
  render();
}

const [, , , notifyChanged] = addStateTools(mcpWeb, {
  name: "checkers",
  description:
    "The game. The rows of the board are from the top, - is an empty square, w and b are men, W and B are kings; black moves down. " +
    "To move, set the rows that change, and then the turn",
  schema: {
    type: "object",
    properties: {
      board: { type: "array", items: { type: "string", pattern: "^[-wWbB]{8}$" }, minItems: 8, maxItems: 8 },
      turn: { enum: ["white", "black"], description: "Whose turn it is" },
    },
    required: ["board", "turn"],
  },
  expand: true,
  get: () => game,
  set: setGame,
});

function press(row, column) {
  if (game.turn !== "white") return;
  const chosen = legalMoves(game.board, "white").find(
    ({ from, to }) => selected && from.join() === selected.join() && to.join() === [row, column].join(),
  );
  if (chosen) {
    selected = undefined;
    note = "";
    setGame({ board: move(game.board, chosen), turn: "black" });
    notifyChanged();
  } else {
    selected = game.board[row][column].toLowerCase() === "w" ? [row, column] : undefined;
    render();
  }
}

async function ask() {
  note = "The AI thinks …";
  render();
  const query = mcpWeb.query({ prompt: "It is black's turn. Make one legal move, then set the turn to white." });
  note = await query.result.then(
    () => (game.turn === "white" ? "The AI has moved." : "The AI has not moved."),
    (error) => error.remedy ?? error.message,
  );
  render();
}

function render() {
  const names = { w: "white man", W: "white king", b: "black man", B: "black king", "-": "empty" };
  const squares = game.board.flatMap((row, y) =>
    [...row].map((piece, x) => {
      const button = document.createElement("button");
      button.className = (x + y) % 2 ? "dark" : "";
      button.ariaLabel = `${"abcdefgh"[x]}${8 - y}: ${names[piece]}`;
      button.ariaPressed = String(selected?.join() === [y, x].join());
      button.onclick = () => press(y, x);
      if (piece !== "-") {
        const disc = document.createElement("span");
        disc.className = `${piece.toLowerCase() === "w" ? "white" : "black"} ${piece === piece.toUpperCase() ? "king" : ""}`;
        button.append(disc);
      }
      return button;
    }),
  );
  document.querySelector("#board").replaceChildren(...squares);
  document.querySelector("#status").textContent = note || `${game.turn === "white" ? "Your move." : "Black's turn."}`;
  document.querySelector("#ask").disabled = game.turn !== "black" || note === "The AI thinks …";
}

document.querySelector("#ask").onclick = ask;
document.querySelector("#config").textContent = JSON.stringify(mcpWeb.remoteMcpConfig, null, 2);
mcpWeb.onStatusChange(() => render());
window.checkers = { mcpWeb, game: () => game };
render();

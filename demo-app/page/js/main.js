/**
 * Assembles the page: board, tools, panel, questions.
 *
 * The board works without a bridge. Actions of the person and of AI clients use the same `BoardStore`. Its changes are
 * shown in the view, which marks those of AI clients.
 *
 * URL parameters: `storage=none` stores the board and the token only in this tab's memory; `board=empty` starts without
 * cards. The fragment `#calls`, `#tools` or `#connect` opens that part of the panel.
 */

import { introduceAgent } from "./ask-agent.js";
import { showAskBox } from "./ask-box.js";
import { BoardView } from "./board-view.js";
import { emptyBoard } from "./board.js";
import { CardEditor } from "./card-editor.js";
import { byId, setText } from "./dom.js";
import { Notices, announce, changeText } from "./notices.js";
import { boardOffers } from "./offers.js";
import { CallsPanel } from "./panel-calls.js";
import { ConnectPanel } from "./panel-connect.js";
import { ConnectionPanel } from "./panel-connection.js";
import { OffersPanel } from "./panel-offers.js";
import { announceChanges } from "./resources.js";
import { seededBoard } from "./seed.js";
import { BoardStore, PERSON } from "./store.js";
import { enableTabs } from "./tabs.js";
import { enableThemeSwitch } from "./theme-switch.js";

const SDK = "/sdk/mcp-web.js";
const ASK_ELEMENT = "/sdk/mcp-web-ask.js";

const parameters = new URLSearchParams(location.search);
const keeps = parameters.get("storage") !== "none";

const store = new BoardStore(
  parameters.get("board") === "empty" ? emptyBoard() : seededBoard(new Date()),
  keeps ? storageOfThisSite() : undefined,
);

showBoard();
enableThemeSwitch();
enablePanelTabs();
await connect();

function showBoard() {
  const notices = new Notices();
  const editor = new CardEditor(store, {
    remove: (id) => store.remove(id, PERSON),
    closed: ({ id, column }) => view.focusCard(id, column),
  });
  const view = new BoardView(store, {
    edit: (id) => editor.open(id),
    remove: (id) => store.remove(id, PERSON),
  });
  store.subscribe((change) => {
    if (!change) return;
    announce(changeText(change));
    if (change.kind !== "removed") return;
    if (change.actor === PERSON) view.focusCard(change.card.id, change.card.column, change.position);
    notices.show(changeText(change), () => {
      store.restore(change.card, change.position, PERSON);
      view.focusCard(change.card.id, change.card.column);
    });
  });
  byId("reset").addEventListener("click", () => {
    const { board } = store;
    store.replace(seededBoard(new Date()));
    notices.show("The board is as it was at the start", () => store.replace(board));
  });
}

function enablePanelTabs() {
  const tablist = byId("panel-tabs");
  const choose = enableTabs(tablist);
  const follow = () => {
    const tab = document.getElementById(`tab-${location.hash.slice(1)}`);
    if (tab) choose(tab);
  };
  addEventListener("hashchange", follow);
  byId("calls-none").addEventListener("click", (event) => {
    if (event.target.closest("a")) choose(byId("tab-connect"));
  });
  choose(byId("tab-calls"));
  follow();
}

/** Reading `localStorage` throws if the user has blocked it. */
function storageOfThisSite() {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

async function connect() {
  let sdk;
  try {
    [sdk] = await Promise.all([import(SDK), import(ASK_ELEMENT)]);
  } catch {
    const missing = `The bridge has no SDK at ${SDK}. Build it with cargo xtask sdk and start the demo again. The board works by hand meanwhile.`;
    new ConnectionPanel().showMissingSdk(missing);
    setText(byId("ask-model"), "Without its SDK this page cannot ask.");
    return;
  }
  if (!keeps) byId("ask").setAttribute("storage", "none");
  const mcpWeb = new sdk.McpWeb({
    name: "autumn-issue",
    description: "Kanban board of a small magazine: list, add, move, change and remove cards.",
    version: "0.2.0",
    storage: keeps ? "local" : "none",
    // Some AI clients cannot ask their user. In that case the page does.
    elicitInPage: "fallback",
    webmcp: { onImportsChange: (tools) => panel.showImported(tools) },
  });
  // For experiments and tests: `mcpWeb.addTool(…)` works in the console.
  window.mcpWeb = mcpWeb;
  new ConnectionPanel(mcpWeb);
  new CallsPanel(mcpWeb, byId("tab-calls"));
  const panel = new OffersPanel(boardOffers(mcpWeb, store));
  announceChanges(store, panel);
  showAskBox(mcpWeb, store, await introduceAgent());
  await ConnectPanel.of(mcpWeb);
}

/** Panel: the state of the connection, the reason if there is none, what to do, and the connected clients. */

import { byId, h, setText } from "./dom.js";

const WORDS = {
  idle: { title: "Not connected", detail: "Connect to let AI clients use this page.", action: "Connect" },
  loading: { title: "Loading", detail: "Loading the SDK." },
  connecting: { title: "Connecting", detail: "Waiting for the bridge to answer." },
  connected: { title: "Connected", action: "Disconnect" },
  reconnecting: { title: "Reconnecting", action: "Stop" },
  disconnected: { title: "Disconnected", detail: "AI clients cannot use this page until you connect again.", action: "Connect" },
  failed: { title: "Failed", action: "Try again" },
};

/** The demo itself is this page's bridge, so there is no `bridgeUrl` to set. */
const NO_BRIDGE = "The demo does not answer. If it was stopped, start it again: this page finds it by itself.";

export class ConnectionPanel {
  #mcpWeb;
  #countdown;

  /** Without an SDK, the panel shows why. @param {import("/sdk/mcp-web.js").McpWeb} [mcpWeb] */
  constructor(mcpWeb) {
    this.#mcpWeb = mcpWeb;
    byId("connection-action").addEventListener("click", () => this.#act());
    if (!mcpWeb) return;
    mcpWeb.onStatusChange(() => {
      this.#showStatus(mcpWeb.status);
      this.#showClients(mcpWeb.clients);
    });
    mcpWeb.onClientsChange(() => this.#showClients(mcpWeb.clients));
    this.#showStatus(mcpWeb.status);
    this.#showClients(mcpWeb.clients);
  }

  /** The SDK is missing, so that only a reload can help. @param {string} message */
  showMissingSdk(message) {
    this.#show("failed", { title: "No SDK", detail: message, action: "Reload" });
  }

  #showStatus({ state, error, retryInMs }) {
    clearInterval(this.#countdown);
    const words = WORDS[state] ?? { title: state };
    if (state === "reconnecting") return this.#countDown(words, error, retryInMs);
    const detail = error ? problemText(error) : (words.detail ?? this.#where());
    this.#show(state, { ...words, detail });
  }

  #countDown(words, error, retryInMs = 0) {
    const at = Date.now() + retryInMs;
    const tick = () => {
      const seconds = Math.ceil((at - Date.now()) / 1000);
      const next = seconds > 0 ? `Next try in ${seconds} s.` : "Trying now.";
      this.#show("reconnecting", { ...words, detail: problemText(error), next });
      if (seconds <= 0) clearInterval(this.#countdown);
    };
    tick();
    this.#countdown = setInterval(tick, 1000);
  }

  #show(state, { title, detail, action, next = "" }) {
    const chip = byId("connection-state");
    if (chip.dataset.state !== state) chip.dataset.state = state;
    setText(chip, title);
    setText(byId("connection-detail"), detail);
    setText(byId("connection-next"), next);
    byId("connection-jump").dataset.state = state;
    setText(byId("connection-jump-text"), title);
    document.body.dataset.connection = state;
    const button = byId("connection-action");
    button.setAttribute("aria-disabled", String(!action));
    setText(button, action ?? "Connect");
  }

  #where() {
    return `AI clients reach this tab, session ${this.#mcpWeb.sessionId.slice(0, 8)}, at ${this.#mcpWeb.bridgeUrl}/mcp`;
  }

  #act() {
    if (!this.#mcpWeb) return location.reload();
    const { state } = this.#mcpWeb.status;
    if (state === "loading" || state === "connecting") return;
    const stop = state === "connected" || state === "reconnecting";
    // The status shows errors, so the promise adds nothing.
    Promise.resolve(stop ? this.#mcpWeb.disconnect() : this.#mcpWeb.connect()).catch(() => {});
  }

  #showClients(clients) {
    const none = byId("clients-none");
    none.hidden = clients.length > 0;
    setText(none, this.#mcpWeb.status.state === "connected" ? "None yet." : "Shown while connected.");
    setText(byId("clients-count"), clients.length > 0 ? String(clients.length) : "");
    byId("clients").replaceChildren(...alike(clients).map(clientItem));
  }
}

/** Messages begin in lower case and end without a full stop, for logs. */
function problemText({ code, message }) {
  if (code === "BridgeUnreachable") return NO_BRIDGE;
  return `${message.charAt(0).toUpperCase()}${message.slice(1)} (${code}).`;
}

/** Merges clients that look the same: a client that ends without notice stays in the list for some time. */
function alike(clients) {
  const groups = new Map();
  for (const client of clients) {
    const { name, title, version, protocolVersion } = client;
    const key = JSON.stringify([name, title, version, protocolVersion]);
    groups.set(key, { client, times: (groups.get(key)?.times ?? 0) + 1 });
  }
  return [...groups.values()];
}

function clientItem({ client: { name, title, version, protocolVersion }, times }) {
  return h(
    "li",
    { className: "client" },
    h("span", { className: "client-name" }, title ?? name),
    h("span", { className: "client-version" }, [version, times > 1 && `× ${times}`].filter(Boolean).join(" ")),
    h("span", { className: "client-protocol" }, protocolVersion ? `MCP ${protocolVersion}` : ""),
  );
}

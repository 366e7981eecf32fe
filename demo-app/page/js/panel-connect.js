/** Panel: configurations to paste into AI clients. The token is hidden until requested, but copied text contains it. */

import { clientConfigs } from "./client-config.js";
import { announce } from "./notices.js";
import { byId, h, setText } from "./dom.js";
import { enableTabs } from "./tabs.js";

const FEEDBACK_MS = 2_000;

export class ConnectPanel {
  #configs;
  #token;
  #chosen;
  #feedback;

  /** @param mcpWeb waits for the token, which may come from a function of the app */
  static async of(mcpWeb) {
    const [token, local, remote] = await Promise.all([
      mcpWeb.authToken,
      mcpWeb.mcpConfig,
      mcpWeb.remoteMcpConfig,
    ]);
    return new ConnectPanel(token, clientConfigs(local, remote));
  }

  constructor(token, configs) {
    this.#token = token;
    this.#configs = configs;
    const tablist = byId("config-clients");
    tablist.replaceChildren(...configs.map(clientTab));
    const choose = enableTabs(tablist, (tab) => this.#choose(tab.dataset.client));
    byId("config-reveal").addEventListener("change", () => this.#show());
    byId("config-copy").addEventListener("click", () => this.#copy());
    choose(tablist.firstElementChild);
    byId("config").hidden = false;
  }

  #choose(id) {
    this.#chosen = this.#configs.find((config) => config.id === id);
    byId("config-panel").setAttribute("aria-labelledby", `config-${id}`);
    this.#show();
  }

  #show() {
    const { where, text, after } = this.#chosen;
    const [words, file] = where;
    const hidden = !byId("config-reveal").checked;
    byId("config-where").replaceChildren(words, file ? " " : "", ...(file ? [h("code", {}, file)] : []));
    byId("config-text").textContent = hidden ? text.replaceAll(this.#token, "•".repeat(12)) : text;
    setText(byId("config-after"), after);
    this.#giveFeedback("Copy");
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.#chosen.text);
      this.#giveFeedback("Copied", true);
      announce(`Configuration for ${this.#chosen.name} copied, with the token`);
    } catch {
      byId("config-reveal").checked = true;
      this.#show();
      getSelection().selectAllChildren(byId("config-text"));
      this.#giveFeedback("Press Ctrl+C", true);
      announce("The browser refused to copy. The text is selected: press Ctrl+C");
    }
  }

  #giveFeedback(text, passing = false) {
    clearTimeout(this.#feedback);
    const button = byId("config-copy");
    setText(button, text);
    button.classList.toggle("is-copied", passing);
    if (passing) this.#feedback = setTimeout(() => this.#giveFeedback("Copy"), FEEDBACK_MS);
  }
}

function clientTab({ id, name }) {
  return h(
    "button",
    { type: "button", role: "tab", id: `config-${id}`, className: "segment", dataset: { client: id }, "aria-controls": "config-panel" },
    name,
  );
}

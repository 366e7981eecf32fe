/**
 * Panel: the items that this page offers to AI clients, each with a switch. An item that is off is unregistered, so clients
 * no longer see it.
 *
 * @typedef {{ kind: "tools" | "resources" | "prompts", name: string, description: string,
 *             badges: ({ text: string, destructive?: boolean } | Element)[], detail?: { title: string, value: unknown },
 *             add: () => { registered: Promise<void>, remove: () => Promise<void> } }} Offer
 */

import { byId, h, setText } from "./dom.js";
import { jsonView } from "./json-view.js";

export class OffersPanel {
  #handles = new Map();
  #offers;

  /** Registers everything. @param {Offer[]} offers their names are unique */
  constructor(offers) {
    this.#offers = offers;
    for (const kind of new Set(offers.map((offer) => offer.kind))) {
      byId(kind).replaceChildren(...offers.filter((offer) => offer.kind === kind).map((offer) => this.#item(offer)));
    }
    this.#showCount();
  }

  /** The handle of an offer, while it is switched on. */
  handle(name) {
    return this.#handles.get(name);
  }

  /** Also shows the browser's tools that are offered. @param {readonly import("mcp-web-sdk").ImportedTool[]} tools */
  showImported(tools) {
    byId("imported").hidden = tools.length === 0;
    byId("imported-tools").replaceChildren(...tools.map(importedItem));
  }

  #item(offer) {
    const id = `offer-${offer.name}`;
    const problem = h("p", { className: "tool-problem", role: "status" });
    const toggle = h("input", {
      type: "checkbox",
      role: "switch",
      id,
      checked: true,
      className: "switch",
      dataset: { toolSwitch: offer.name },
      "aria-describedby": `${id}-description`,
      onchange: () => (toggle.checked ? this.#add(offer, problem) : this.#remove(offer, problem)),
    });
    this.#add(offer, problem);
    return h(
      "li",
      { className: "tool" },
      h("label", { className: "tool-name", htmlFor: id }, h("code", {}, offer.name), offer.badges.map(badge)),
      toggle,
      h("p", { className: "tool-description", id: `${id}-description` }, offer.description),
      problem,
      offer.detail && h("details", { className: "tool-schema" }, h("summary", {}, offer.detail.title), jsonView(offer.detail.value)),
    );
  }

  #add(offer, problem) {
    const handle = offer.add();
    this.#handles.set(offer.name, handle);
    this.#settle(handle.registered, problem);
  }

  #remove(offer, problem) {
    const handle = this.#handles.get(offer.name);
    this.#handles.delete(offer.name);
    this.#settle(handle.remove(), problem);
  }

  #settle(done, problem) {
    setText(problem, "");
    this.#showCount();
    Promise.resolve(done).catch((error) => setText(problem, error.message));
  }

  #showCount() {
    setText(byId("tools-count"), `${this.#handles.size}/${this.#offers.length}`);
  }
}

/** A tool of the browser has no switch, because only its owner can remove it. */
const importedItem = ({ name, description, inputSchema, isForm }) =>
  h(
    "li",
    { className: "tool", dataset: { imported: name } },
    h("p", { className: "tool-name" }, h("code", {}, name), h("span", { className: "badge is-imported" }, isForm ? "WebMCP form" : "WebMCP")),
    h("p", { className: "tool-description" }, description),
    inputSchema && h("details", { className: "tool-schema" }, h("summary", {}, "Input schema"), jsonView(inputSchema)),
  );

const badge = (it) =>
  it instanceof Element ? it : h("span", { className: it.destructive ? "badge is-destructive" : "badge" }, it.text);

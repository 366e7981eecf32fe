/** Marks the elements that an AI client has used with the client's name, for some time. */

import { h } from "./dom.js";

/** Long enough to be noticed by a person who looks up. */
const MARK_MS = 6000;

export class TouchedMarks {
  #root;
  #client = "An AI client";
  #marks = new Map();

  /** @param {HTMLElement} root only elements in it are marked */
  constructor(root, mcpWeb) {
    this.#root = root;
    mcpWeb.onCall(({ phase, client }) => {
      if (phase === "started") this.#client = client?.title ?? client?.name ?? "An AI client";
    });
  }

  /** @param {import("mcp-web-sdk/page").DoneAction} done */
  show({ element }) {
    if (!element || !this.#root.contains(element)) return;
    const row = element.closest(".order-row") ?? element;
    this.#clear(row);
    const sign = h("span", { className: "touched-by", "aria-hidden": "true" }, this.#client);
    row.classList.add("is-touched");
    row.append(sign);
    row.scrollIntoView({ block: "nearest" });
    this.#marks.set(row, { sign, timer: setTimeout(() => this.#clear(row), MARK_MS) });
  }

  #clear(row) {
    const mark = this.#marks.get(row);
    if (!mark) return;
    clearTimeout(mark.timer);
    mark.sign.remove();
    row.classList.remove("is-touched");
    this.#marks.delete(row);
  }
}

/** Marks what an AI client has touched, for a while, with its name. */

import { h } from "./dom.js";

/** Long enough to be seen by somebody who looks up. */
const MARK_MS = 6000;

export class TouchedMarks {
  #root;
  #client = "An AI client";
  #marks = new Map();

  /** @param {HTMLElement} root only what is in it is marked */
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

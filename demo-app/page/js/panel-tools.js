/** Panel: the tools of this page, each with a switch. Off means unregistered: clients no longer see it. */

import { byId, h, setText } from "./dom.js";
import { jsonView } from "./json-view.js";

export class ToolsPanel {
  #mcpWeb;
  #handles = new Map();
  #total;

  /** Registers all tools. @param definitions as `mcpWeb.addTool` takes them */
  constructor(mcpWeb, definitions) {
    this.#mcpWeb = mcpWeb;
    this.#total = definitions.length;
    byId("tools").replaceChildren(...definitions.map((definition) => this.#item(definition)));
    this.#showCount();
  }

  #item(definition) {
    const id = `tool-${definition.name}`;
    const problem = h("p", { className: "tool-problem", role: "status" });
    const toggle = h("input", {
      type: "checkbox",
      role: "switch",
      id,
      checked: true,
      className: "switch",
      dataset: { toolSwitch: definition.name },
      "aria-describedby": `${id}-description`,
      onchange: () => (toggle.checked ? this.#add(definition, problem) : this.#remove(definition, problem)),
    });
    this.#add(definition, problem);
    return h(
      "li",
      { className: "tool" },
      h("label", { className: "tool-name", htmlFor: id }, h("code", {}, definition.name), badges(definition.annotations)),
      toggle,
      h("p", { className: "tool-description", id: `${id}-description` }, definition.description),
      problem,
      h("details", { className: "tool-schema" }, h("summary", {}, "Input schema"), jsonView(definition.inputSchema)),
    );
  }

  #add(definition, problem) {
    const handle = this.#mcpWeb.addTool(definition);
    this.#handles.set(definition.name, handle);
    this.#settle(handle.registered, problem);
  }

  #remove(definition, problem) {
    const handle = this.#handles.get(definition.name);
    this.#handles.delete(definition.name);
    this.#settle(handle.remove(), problem);
  }

  #settle(done, problem) {
    setText(problem, "");
    this.#showCount();
    Promise.resolve(done).catch((error) => setText(problem, error.message));
  }

  #showCount() {
    setText(byId("tools-count"), `${this.#handles.size}/${this.#total}`);
  }
}

function badges({ readOnlyHint, destructiveHint }) {
  if (readOnlyHint) return h("span", { className: "badge" }, "read-only");
  if (destructiveHint) return h("span", { className: "badge is-destructive" }, "destructive");
  return h("span", { className: "badge" }, "writes");
}

/** Panel: the calls as they happen, newest first. Entries stay open or closed as the person left them. */

import { recordCall } from "./call-log.js";
import { clockText, durationText } from "./dates.js";
import { byId, h, icon, placeChildren, setText } from "./dom.js";
import { jsonView } from "./json-view.js";
import { resultView } from "./result-view.js";

/** The kind of a called item that is not a tool. */
const KIND_WORDS = {
  prompt: "prompt for ",
  resource: "read by ",
  "resource-template": "read by ",
  completion: "completed for ",
};

const STATE_WORDS = { running: "Running", done: "Done", failed: "Failed", cancelled: "Cancelled" };

export class CallsPanel {
  #list = byId("calls");
  #heading;
  #calls = [];
  #entries = new Map();

  /** @param {HTMLElement} heading gets the focus after the list is cleared */
  constructor(mcpWeb, heading) {
    this.#heading = heading;
    mcpWeb.onCall((event) => this.#show(recordCall(this.#calls, event, new Date())));
    byId("calls-clear").addEventListener("click", () => this.#clear());
  }

  #clear() {
    this.#show(this.#calls.filter((call) => call.state === "running"));
    this.#heading.focus();
  }

  #show(calls) {
    this.#calls = calls;
    const entries = calls.map((call) => this.#entryOf(call));
    placeChildren(this.#list, entries.map((entry) => entry.element));
    const alive = new Set(calls.map((call) => call.callId));
    for (const callId of this.#entries.keys()) if (!alive.has(callId)) this.#entries.delete(callId);
    byId("calls-none").hidden = calls.length > 0;
    byId("calls-bar").hidden = calls.length === 0;
    setText(byId("calls-count"), calls.length > 0 ? String(calls.length) : "");
  }

  #entryOf(call) {
    const entry = this.#entries.get(call.callId) ?? new CallEntry(call);
    this.#entries.set(call.callId, entry);
    entry.show(call);
    return entry;
  }
}

class CallEntry {
  #state = h("span", { className: "call-state" });
  #duration = h("span", { className: "call-duration" });
  #outcome = h("div", { className: "call-outcome" });
  #shown;

  constructor(call) {
    this.element = h(
      "li",
      { className: "call", dataset: { callId: call.callId, tool: call.toolName } },
      h(
        "details",
        {},
        h(
          "summary",
          {},
          this.#state,
          h("code", { className: "call-tool" }, call.toolName),
          this.#duration,
          h("span", { className: "call-digest" }, digest(call)),
          h("span", { className: "call-by" }, `${KIND_WORDS[call.kind] ?? ""}${call.clientName} · ${clockText(call.startedAt)}`),
        ),
        h("div", { className: "call-body" }, part("Input", jsonView(call.input)), this.#outcome),
      ),
    );
  }

  show(call) {
    if (this.#shown === call) return;
    this.#shown = call;
    this.element.dataset.state = call.state;
    this.#state.replaceChildren(
      icon(call.state),
      h("span", { className: "visually-hidden" }, STATE_WORDS[call.state]),
    );
    this.#state.title = STATE_WORDS[call.state];
    setText(this.#duration, call.durationMs === undefined ? "" : durationText(call.durationMs));
    this.#outcome.replaceChildren(...outcomeOf(call).flat());
  }
}

function outcomeOf({ state, result, error }) {
  if (state === "running") return [];
  if (!error) return [part(state === "cancelled" ? "Cancelled" : "Result", resultView(result))];
  const text = error.code ? `${error.message} (${error.code})` : error.message;
  const heading = state === "cancelled" ? "Cancelled" : "Error";
  return [part(heading, h("p", { className: "call-error" }, text))];
}

const part = (heading, content) => [h("h4", {}, heading), content].flat();

/** The input as one line: `id: c3, column: done`, or the URI of the resource. */
function digest({ kind, input }) {
  const facts = kind.startsWith("resource") ? { uri: input.uri } : (input ?? {});
  return Object.entries(facts)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

// A small app of mcp-web 0.1: a list of groceries that its user and an AI client both write on.

import { MCPWeb } from "./v1-core.js";

const bridgeUrl = new URLSearchParams(location.search).get("bridge");
const items = JSON.parse(localStorage.getItem("items") ?? '["Bread", "Milk"]');
const app = new MCPWeb({ name: "Groceries", bridgeUrl });

function show() {
  localStorage.setItem("items", JSON.stringify(items));
  document.querySelector("ul").replaceChildren(
    ...items.map((text) => Object.assign(document.createElement("li"), { textContent: text })),
  );
  const status = document.querySelector("#status");
  status.textContent = app.isConnected ? "An AI client can help" : "Waiting for the bridge …";
  status.dataset.connected = app.isConnected;
}

function add(text) {
  items.push(text);
  show();
}

app.onchange = show;
app.addTool({
  name: "add_item",
  description: "Writes something on the list",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  outputSchema: { type: "object", properties: { count: { type: "number" } }, required: ["count"] },
  handler: ({ text }) => {
    if (text === "") {
      throw new Error("Nothing to write");
    }
    add(text);
    return { count: items.length };
  },
});
app.addTool({
  name: "list_items",
  description: "All that is on the list",
  inputSchema: { type: "object", properties: {}, required: [] },
  // A list: MCP has no field for that promise.
  outputSchema: { type: "array", items: { type: "string" } },
  handler: () => items,
});
app.addTool({
  name: "forget_me",
  description: "Removes itself",
  handler: () => app.removeTool("forget_me"),
});
app.addResource({
  uri: "groceries://list",
  name: "The list",
  description: "One line each",
  mimeType: "text/plain",
  handler: () => items.join("\n"),
});
app.addResource({
  uri: "groceries://bytes",
  name: "Some bytes",
  mimeType: "application/octet-stream",
  handler: () => new Uint8Array([0, 255]),
});

document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector("input");
  add(input.value);
  input.value = "";
});

const answer = document.querySelector("#answer");
const events = [];

/** Shows an event to the person, and stores it for the test. */
function showEvent(event) {
  events.push(event);
  answer.textContent = {
    query_accepted: () => "Thinking …",
    query_progress: () => event.message,
    query_complete: () => event.message ?? "Done",
    query_failure: () => `That went wrong: ${event.error}`,
    query_cancel: () => "Stopped",
  }[event.type]();
}

document.querySelector("#ask").addEventListener("click", () => {
  answer.textContent = "Asking …";
  globalThis.cancel = app.query(
    {
      prompt: "What is missing for breakfast? Write it on the list.",
      context: [{ name: "items", value: items, description: "What is on the list", type: "ephemeral" }],
      tools: [{ name: "add_item" }, { name: "list_items" }],
      restrictTools: true,
    },
    showEvent,
  );
});
show();
Object.assign(globalThis, { app, events });

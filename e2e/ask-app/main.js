// An app that asks its agent in the ways of the guide: a form that is filled in while the arguments are written, a
// conversation, a picture that a tool draws, an answer that fits a schema of Zod, and calls that wait for approval.
import { McpWeb } from "mcp-web-sdk";
import * as z from "zod";

const parameters = new URLSearchParams(location.search);
const mcpWeb = new McpWeb({
  name: parameters.get("app") ?? "Booking",
  description: "Books tables of a restaurant",
  bridgeUrl: parameters.get("bridge"),
  authToken: parameters.get("token"),
});

const form = document.querySelector("#form");
const state = document.querySelector("#state");
const booked = [];

function fill(values) {
  for (const [name, value] of Object.entries(values)) if (form[name]) form[name].value = value;
}

const fillForm = mcpWeb.addTool({
  name: "fill_form",
  description: "Fills in the form",
  inputSchema: {
    type: "object",
    properties: { name: { type: "string" }, guests: { type: "integer" }, wishes: { type: "string" } },
    required: ["name", "guests"],
  },
  handler: (values) => fill(values),
});

mcpWeb.addTool({
  name: "draw_tables",
  description: "Draws the tables of the restaurant",
  annotations: { readOnlyHint: true },
  async handler() {
    const canvas = new OffscreenCanvas(2000, 1000);
    const context = canvas.getContext("2d");
    context.fillStyle = "green";
    context.fillRect(0, 0, 2000, 1000);
    return canvas.convertToBlob({ type: "image/png" });
  },
});

mcpWeb.addTool({
  name: "book",
  description: "Books a table",
  inputSchema: { type: "object", properties: { guests: { type: "integer" } } },
  handler({ guests }) {
    booked.push(guests);
    return { table: 7 };
  },
});

const Table = z.object({
  number: z.number().int(),
  name: z.string().transform((name) => name.toUpperCase()),
  note: z.string().default("none"),
});

/** Follows a query, and returns what the test looks at. */
async function follow(query) {
  const streamed = { events: [], text: "" };
  for await (const event of query) {
    streamed.events.push(event.type);
    if (event.type === "text") streamed.text += event.text;
    if (event.type === "tool-arguments" && event.tool === "fill_form") {
      fill(event.arguments);
      state.textContent = "The AI fills in the form …";
    }
    if (event.type === "approval-requested") app.requests.push({ ...event, answer: (yes) => query.approve(event.id, yes) });
  }
  const { text, value, response, usage, toolCalls } = await query.result;
  state.textContent = "Done";
  return { ...streamed, text, value, response, usage, toolCalls };
}

const conversations = new Map();
const conversation = (id) => conversations.get(id) ?? conversations.set(id, mcpWeb.conversation({ id })).get(id);

const app = {
  mcpWeb,
  booked,
  /** The requests for approval so far. */
  requests: [],
  fillIn: () => follow(mcpWeb.query({ prompt: "A table for Ada and three friends", responseTool: fillForm })),
  ask: (options) => follow(mcpWeb.query(options)),
  table: () => follow(mcpWeb.query({ prompt: "Which table is best?", responseSchema: Table })),
  book: () => follow(mcpWeb.query({ prompt: "Book a table for 4", approve: ["book"] })),
  say: (id, prompt) => follow(conversation(id).query({ prompt })),
  history: (id) => conversation(id).history(),
  clear: (id) => conversation(id).clear(),
  list: () => mcpWeb.conversations(),
};
window.app = app;

// The page of all clients: a list of notes, a tool that adds to it, and one that a person must approve.
import { McpWeb } from "mcp-web-sdk";

export const mcpWeb = new McpWeb({
  name: "notes",
  description: "A list of notes",
  bridgeUrl: "http://localhost:3001",
});

const notes = document.querySelector("#notes")!;

mcpWeb.addTool({
  name: "add_note",
  description: "Adds a note to the list that the user sees",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The note" } },
    required: ["text"],
  },
  handler: ({ text }) => {
    const item = document.createElement("li");
    item.textContent = text;
    notes.append(item);
    return { notes: notes.children.length };
  },
});

mcpWeb.addTool({
  name: "clear_notes",
  description: "Removes all notes",
  annotations: { destructiveHint: true },
  handler: () => {
    notes.replaceChildren();
    return { notes: 0 };
  },
});

await mcpWeb.connect();
document.body.dataset.connected = "";

import { McpWeb } from "mcp-web-sdk";

const mcpWeb = new McpWeb({ name: "notes", ...globalThis.settings });
const tool = mcpWeb.addTool({
  name: "add_note",
  description: "Adds a note to the list that the user sees",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The note" } },
    required: ["text"],
  },
  handler: ({ text }) => {
    document.querySelector("#notes").append(text);
    return { notes: 1 };
  },
});
await tool.registered;
globalThis.registeredAt = performance.now();

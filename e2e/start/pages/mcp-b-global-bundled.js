import "@mcp-b/global";

await document.modelContext.registerTool({
  name: "add_note",
  description: "Adds a note to the list that the user sees",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The note" } },
    required: ["text"],
  },
  async execute({ text }) {
    document.querySelector("#notes").append(text);
    return { content: [{ type: "text", text: "1 note" }] };
  },
});
globalThis.registeredAt = performance.now();

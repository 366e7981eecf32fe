import { McpWeb } from "mcp-web-sdk";

const parameters = new URLSearchParams(location.search);

export const mcpWeb = new McpWeb({
  name: "Bundled app",
  description: "A page of a bundler",
  bridgeUrl: parameters.get("bridge"),
  authToken: parameters.get("token"),
});
window.mcpWeb = mcpWeb;

mcpWeb.addTool({
  name: "set_heading",
  description: "Changes the heading of the page",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
  },
  handler({ text }) {
    document.querySelector("h1").textContent = text;
    return { text };
  },
});

import { McpWeb } from "mcp-web-sdk";

export const mcpWeb = new McpWeb({
  name: "Shopping list",
  description: "What to buy",
  // The default is http://localhost:3001.
  bridgeUrl: import.meta.env.VITE_BRIDGE_URL,
});

import { McpWeb } from "mcp-web-sdk";

export const mcpWeb = new McpWeb({
  name: "Shopping list",
  description: "What to buy",
  // http://localhost:3001 unless the environment says otherwise.
  bridgeUrl: import.meta.env.VITE_BRIDGE_URL,
});

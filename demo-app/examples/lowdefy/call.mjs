import { readFile } from "node:fs/promises";

const [toolName, toolInput = "{}"] = process.argv.slice(2);
const { mcpServers } = JSON.parse(await readFile(".mcp-web/mcp.json", "utf8"));
const { MCP_SERVER_URL, AUTH_TOKEN } = mcpServers.Orders.env;
const response = await fetch(new URL("/tool-call", MCP_SERVER_URL), {
  method: "POST",
  headers: { Authorization: `Bearer ${AUTH_TOKEN}`, "Content-Type": "application/json" },
  body: JSON.stringify({ toolName, toolInput: JSON.parse(toolInput) }),
});
for (const { text } of (await response.json()).content) console.log(text);

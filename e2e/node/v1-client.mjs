// A stdio client as `@mcp-web/client` 0.1 is one, written from the contract: each line of the input
// is a JSON-RPC message, which is posted unchanged; each answer is a line of the output. No
// `initialize`, no session, any media type, and several messages at a time, whatever their ids.
// Usage: MCP_SERVER_URL=… AUTH_TOKEN=… node v1-client.mjs
import { createInterface } from "node:readline";

const { MCP_SERVER_URL: url, AUTH_TOKEN: token } = process.env;

async function forward(body) {
  const headers = { Accept: "*/*", "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: "POST", headers, body });
  process.stdout.write(`${await response.text()}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  void forward(line);
}

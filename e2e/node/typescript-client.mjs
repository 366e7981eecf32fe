// Lists the tools of an MCP server and calls `echo`, with the TypeScript SDK's client.
// Usage: node typescript-client.mjs URL TOKEN. Prints one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);

const client = new Client({ name: "typescript-client", version: "0.1.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: "echo", arguments: { id: 7 } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), result }));
await transport.terminateSession();
await client.close();

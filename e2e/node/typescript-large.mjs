// Calls `large` and, beside it, `echo` 16 times, with the TypeScript SDK's client.
// Usage: node typescript-large.mjs URL TOKEN. Prints the sizes in one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);

const client = new Client({ name: "typescript-client", version: "0.1.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);
const large = client.callTool({ name: "large", arguments: {} });
const ids = Array.from({ length: 16 }, (_, id) => id);
const echoes = await Promise.all(ids.map((id) => client.callTool({ name: "echo", arguments: { id } })));
const { content, structuredContent } = await large;
console.log(
  JSON.stringify({
    text: content[0].text.length,
    structured: JSON.stringify(structuredContent).length,
    echoes: echoes.filter(({ structuredContent }, id) => structuredContent.id === id).length,
  }),
);
await transport.terminateSession();
await client.close();

// Drives the client of the TypeScript SDK 2.x, `@modelcontextprotocol/client`, over Streamable HTTP
// or stdio. MCP_WEB_ERA chooses its `versionNegotiation`: `legacy` begins with `initialize` (the
// library's default), `modern` insists on MCP 2026-07-28, `auto` tries `server/discover` first.
// Usage: MCP_WEB_ERA=modern node typescript-client.mjs CONFIG
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { answer, clientInfo, config, headers, onStdio, server } from "./shared.mjs";
import { nameAndVersion, news, walk } from "./shared.mjs";

const modes = { legacy: "legacy", modern: { pin: "2026-07-28" }, auto: "auto" };
const mode = modes[process.env.MCP_WEB_ERA ?? "legacy"];
if (mode === undefined) throw new Error(`unknown MCP_WEB_ERA: ${process.env.MCP_WEB_ERA}`);

const transport = onStdio
  ? new StdioClientTransport(server)
  : new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers } });

const listChanged = news();

const client = new Client(clientInfo, {
  capabilities: { elicitation: {} },
  versionNegotiation: { mode },
  // In the modern era this opens the stream of `subscriptions/listen`.
  listChanged: { tools: { onChanged: listChanged.tell, autoRefresh: false } },
});
client.onerror = (error) => console.error(`onerror: ${error.message}`);
client.setRequestHandler("elicitation/create", () => answer);

await walk({
  client: nameAndVersion("@modelcontextprotocol/client"),
  connect: async () => {
    await client.connect(transport);
    return client.getNegotiatedProtocolVersion() ?? null;
  },
  list: async () => {
    const { tools } = await client.listTools();
    return tools.map(({ name }) => name);
  },
  call: (name, input, { signal, onProgress } = {}) =>
    client.callTool(
      { name, arguments: input },
      { signal, onprogress: onProgress && (({ message }) => onProgress(message)) },
    ),
  listChanged,
  leave: async () => {
    // Does nothing without a session, as in the modern era.
    if (!onStdio) await transport.terminateSession();
    await client.close();
  },
  way: onStdio ? "client.close()" : "transport.terminateSession(), then client.close()",
});

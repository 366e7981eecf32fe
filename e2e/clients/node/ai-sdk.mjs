// Drives the MCP client of the AI SDK, `@ai-sdk/mcp`, over Streamable HTTP or stdio, through the AI
// SDK's own tools (`client.tools()`), which are what a model gets. MCP_WEB_ERA=legacy makes it begin
// with `initialize`; otherwise it tries `server/discover` first, as the library does by itself.
// Usage: node ai-sdk.mjs CONFIG
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";

import { answer, clientInfo, config, headers, nameAndVersion, onStdio, server, walk } from "./shared.mjs";

const discovers = process.env.MCP_WEB_ERA !== "legacy";

const lacks = {
  list_changed: "the client accepts no notifications: they go to onUncaughtError as an unsupported type",
  progress: "the client has no callback for progress and sends no progressToken",
};
// In the modern era, aborting a call over HTTP closes its response, and that is the cancel.
if (onStdio || !discovers) {
  lacks.cancel = "aborting a call only stops waiting for it: the client never sends notifications/cancelled";
}

let client;
let tools = {};

async function list() {
  tools = await client.tools();
  return Object.keys(tools);
}

await walk({
  client: nameAndVersion("@ai-sdk/mcp"),
  connect: async () => {
    client = await createMCPClient({
      transport: onStdio ? new StdioMCPTransport(server) : { type: "http", url: config.url, headers },
      clientName: clientInfo.name,
      version: clientInfo.version,
      capabilities: { elicitation: {} },
      protocolVersionDiscovery: discovers,
      onUncaughtError: (error) => console.error(`onUncaughtError: ${error?.message ?? error}`),
    });
    client.onElicitationRequest(ElicitationRequestSchema, () => answer);
    return client.initializeResult.protocolVersion;
  },
  list,
  call: (name, input, { signal } = {}) =>
    tools[name].execute(input, { toolCallId: name, messages: [], abortSignal: signal }),
  lacks,
  leave: () => client.close(),
  way: "client.close()",
});

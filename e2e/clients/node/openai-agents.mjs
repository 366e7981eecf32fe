// Drives the MCP servers of the OpenAI Agents SDK, `@openai/agents`, over Streamable HTTP or stdio,
// as an agent uses them, but without a model: `connect`, `listTools`, `callTool`, `close`.
// Usage: node openai-agents.mjs CONFIG
import { MCPServerStdio, MCPServerStreamableHttp } from "@openai/agents";

import { config, headers, nameAndVersion, onStdio, server, walk } from "./shared.mjs";

const mcp = onStdio
  ? new MCPServerStdio({ name: "page", ...server })
  : new MCPServerStreamableHttp({ name: "page", url: config.url, requestInit: { headers } });

await walk({
  client: nameAndVersion("@openai/agents"),
  connect: async () => {
    await mcp.connect();
    return null;
  },
  list: async () => {
    const tools = await mcp.listTools();
    return tools.map(({ name }) => name);
  },
  call: async (name, input, { signal } = {}) => {
    // The content has the rest of the result as properties of the array.
    const content = await mcp.callTool(name, input, undefined, { signal });
    return { content, isError: content.isError };
  },
  lacks: {
    list_changed: "the server object has no handler for notifications: it lists again for each run",
    progress: "the server object has no callback for progress and sends no progressToken",
    elicitation: "the server object declares no capabilities and has no handler for requests",
  },
  leave: () => mcp.close(),
  way: "server.close()",
});

// Drives one of the clients on Node that only `cargo xtask clients` runs, over Streamable HTTP:
// MCP_WEB_CLIENT names its adapter. An adapter connects, lists and calls as an agent of the library does,
// but without a model.
// Usage: MCP_WEB_CLIENT=mastra node further.mjs CONFIG
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { config, headers, nameAndVersion, walk } from "./shared.mjs";

async function mcpUse() {
  const { MCPClient } = await import("mcp-use/client");
  const client = new MCPClient({ mcpServers: { pages: { url: config.url, headers } } });
  let session;
  return {
    client: nameAndVersion("mcp-use/client"),
    connect: async () => {
      session = await client.createSession("pages");
      return null;
    },
    list: async () => (await session.listTools()).map(({ name }) => name),
    call: (name, input) => session.callTool(name, input),
    leave: () => client.closeAllSessions(),
  };
}

async function mastra() {
  const { MCPClient } = await import("@mastra/mcp");
  const client = new MCPClient({
    servers: { pages: { url: new URL(config.url), requestInit: { headers } } },
  });
  let tools;
  return {
    client: nameAndVersion("@mastra/mcp"),
    connect: async () => {
      tools = await client.listTools();
      return null;
    },
    list: async () => Object.keys(tools).map((name) => name.replace(/^pages_/, "")),
    call: async (name, input) => {
      const result = await tools[`pages_${name}`].execute(input);
      // Structured content comes alone.
      return result.content ? result : { content: [{ type: "text", text: JSON.stringify(result) }] };
    },
    leave: () => client.disconnect(),
  };
}

/** A program with an API of HTTP, which connects to the servers in its configuration. */
async function mcpHub() {
  const file = "mcp-hub.json";
  writeFileSync(file, JSON.stringify({ mcpServers: { pages: { url: config.url, headers } } }));
  const port = await freePort();
  const api = async (path, body) => {
    const options = { method: "POST", headers: { "content-type": "application/json" } };
    const response = await fetch(`http://127.0.0.1:${port}/api/servers/${path}`, {
      ...options,
      body: JSON.stringify({ server_name: "pages", ...body }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(answer));
    return answer;
  };
  let hub;
  return {
    client: nameAndVersion("mcp-hub"),
    connect: async () => {
      const program = fileURLToPath(import.meta.resolve("mcp-hub"));
      hub = spawn(process.execPath, [program, "--port", String(port), "--config", file]);
      hub.stderr.pipe(process.stderr);
      const output = createInterface(hub.stdout);
      for await (const line of output) if (line.includes("servers started successfully")) break;
      hub.stdout.resume();
      return null;
    },
    list: async () => (await api("info")).server.capabilities.tools.map(({ name }) => name),
    call: async (name, input) => (await api("tools", { tool: name, arguments: input })).result,
    leave: async () => {
      hub.kill();
      await once(hub, "exit");
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

const adapters = { "mcp-use": mcpUse, mastra, "mcp-hub": mcpHub };

await walk(await adapters[process.env.MCP_WEB_CLIENT]());

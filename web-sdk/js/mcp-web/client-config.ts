/** Configurations for AI clients. */

import type { HttpMcpConfig, StdioMcpConfig } from "../types/options.ts";

/** Returns the configuration for a client that starts servers as processes. */
export function stdioConfig(app: string, bridgeUrl: string, token: string): StdioMcpConfig {
  const env = { MCP_SERVER_URL: `${bridgeUrl}/mcp`, AUTH_TOKEN: token };
  return config(app, { command: "mcp-web", args: ["stdio"], env });
}

/** Returns the configuration for a client that uses Streamable HTTP. */
export function httpConfig(app: string, bridgeUrl: string, token: string): HttpMcpConfig {
  return config(app, { type: "http", url: `${bridgeUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } });
}

/** Clients derive prefixes of tools from this name, so it has only the characters that they allow there. */
function config<Server>(app: string, server: Server): { mcpServers: { [name: string]: Server } } {
  const name = app.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");
  return { mcpServers: { [name || "mcp-web"]: server } };
}

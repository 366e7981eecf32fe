/** What to paste into the configuration of an AI client. */

/** Of a client that starts servers as processes. */
export function stdioConfig(app, bridgeUrl, token) {
  const env = { MCP_SERVER_URL: `${bridgeUrl}/mcp`, AUTH_TOKEN: token };
  return config(app, { command: "mcp-web-stdio", args: [], env });
}

/** Of a client that speaks Streamable HTTP. */
export function httpConfig(app, bridgeUrl, token) {
  return config(app, { type: "http", url: `${bridgeUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } });
}

/** Clients make tool prefixes of this name, so it keeps to what they allow there. */
function config(app, server) {
  const name = app.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");
  return { mcpServers: { [name || "mcp-web"]: server } };
}

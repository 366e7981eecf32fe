/**
 * The configuration texts for AI clients, made from the two configurations that the SDK offers.
 *
 * @typedef {{ id: string, name: string, where: string[], text: string, after: string }} ClientConfig
 */

/**
 * @param local `mcpWeb.mcpConfig`
 * @param remote `mcpWeb.remoteMcpConfig`
 * @returns {ClientConfig[]}
 */
export function clientConfigs(local, remote) {
  const [[name, { url, headers }]] = Object.entries(remote.mcpServers);
  return [
    {
      id: "claude-desktop",
      name: "Claude Desktop",
      where: ["Settings → Developer → Edit Config opens", "claude_desktop_config.json"],
      text: json(local),
      after: "Then quit Claude Desktop and open it again. It starts mcp-web, which must be on the PATH. The command mcp-web install enters its whole path.",
    },
    {
      id: "claude-code",
      name: "Claude Code",
      where: ["Run in a terminal"],
      text: `claude mcp add --transport http ${commandName(name)} ${url} ${headerFlags(headers)}`,
      after: "Then start claude and type /mcp: the board is listed as connected.",
    },
    {
      id: "cursor",
      name: "Cursor",
      where: ["Paste into", "~/.cursor/mcp.json"],
      text: json({ mcpServers: { [name]: { url, headers } } }),
      after: "Then switch the server on under Settings → MCP.",
    },
    {
      id: "vscode",
      name: "VS Code",
      where: ["Paste into", ".vscode/mcp.json"],
      text: json({ servers: { [name]: { type: "http", url, headers } } }),
      after: "Then press Start above the server's entry in that file.",
    },
  ];
}

const json = (value) => JSON.stringify(value, null, 2);

const commandName = (name) => name.replace(/[^a-zA-Z0-9_-]+/g, "-");

const headerFlags = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `\\\n  --header "${name}: ${value}"`)
    .join(" ");

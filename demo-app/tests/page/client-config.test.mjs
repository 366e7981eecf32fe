import assert from "node:assert/strict";
import { test } from "node:test";

import { clientConfigs } from "../../page/js/client-config.js";

const URL = "http://localhost:3001/mcp";
const TOKEN = "0123456789abcdef";
const local = { mcpServers: { board: { command: "mcp-web", args: ["stdio"], env: { MCP_SERVER_URL: URL, AUTH_TOKEN: TOKEN } } } };
const headers = { Authorization: `Bearer ${TOKEN}` };
const remote = { mcpServers: { board: { type: "http", url: URL, headers } } };

const textFor = (id) => clientConfigs(local, remote).find((config) => config.id === id).text;

test("each client gets its own format", () => {
  assert.deepEqual(JSON.parse(textFor("claude-desktop")), local);
  assert.deepEqual(JSON.parse(textFor("cursor")), { mcpServers: { board: { url: URL, headers } } });
  assert.deepEqual(JSON.parse(textFor("vscode")), { servers: { board: { type: "http", url: URL, headers } } });
  assert.equal(
    textFor("claude-code").replace(/\s*\\\n\s*/g, " "),
    `claude mcp add --transport http board ${URL} --header "Authorization: Bearer ${TOKEN}"`,
  );
});

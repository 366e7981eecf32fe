// Playwright MCP, run as its users run it: a program that speaks MCP over stdio and starts Debian's Chromium.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { PROGRAM } from "./chromium.mjs";
import { load } from "./packages.mjs";

const { Client } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

/** The window of a browser with which each text is made, so that they show the same of a page. */
export const VIEWPORT = { width: 1280, height: 720 };

/**
 * Starts it and returns `call`, which calls a tool and returns its text, and `close`. The browser has the
 * entries `storage` in the `localStorage` of `origin`.
 */
export async function startPlaywrightMcp(origin, storage = {}) {
  const folder = mkdtempSync(join(tmpdir(), "playwright-mcp-"));
  const state = join(folder, "storage-state.json");
  const localStorage = Object.entries(storage).map(([name, value]) => ({ name, value }));
  writeFileSync(state, JSON.stringify({ cookies: [], origins: [{ origin, localStorage }] }));
  const program = join(dirname(load.resolve("@playwright/mcp/package.json")), "cli.js");
  const options = ["--headless", "--isolated", "--no-sandbox", "--executable-path", PROGRAM, "--output-dir", folder, "--storage-state", state];
  const size = `${VIEWPORT.width}x${VIEWPORT.height}`;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, ...options, "--viewport-size", size],
    cwd: folder,
    stderr: "ignore",
  });
  const client = new Client({ name: "page-tools-measurement", version: "1.0.0" });
  await client.connect(transport);
  const call = async (name, input) => {
    const result = await client.callTool({ name, arguments: input });
    const text = result.content.map((block) => block.text ?? "").join("\n");
    if (result.isError) {
      throw new Error(`${name} failed: ${text}`);
    }
    return text;
  };
  const close = async () => {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { call, close };
}

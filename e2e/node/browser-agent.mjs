// Uses the tools of a page as an agent of the browser does: chrome-devtools-mcp, over MCP, with its own Chromium.
// Usage: node browser-agent.mjs URL CHROMIUM. Prints one line of JSON.
import { createRequire } from "node:module";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [url, chromium] = process.argv.slice(2);
const program = createRequire(import.meta.url).resolve("chrome-devtools-mcp/package.json").replace("package.json", "build/src/bin/chrome-devtools-mcp.js");
const flags = ["--no-sandbox", "--disable-quic", "--disable-dev-shm-usage", "--disable-background-networking", "--enable-features=WebMCP"];
const args = [
  program,
  ...["--headless", "--isolated", "--categoryExperimentalWebmcp", "--no-usage-statistics", "--no-performance-crux"],
  ...["--executablePath", chromium, ...flags.map((flag) => `--chromeArg=${flag}`)],
];

const client = new Client({ name: "browser-agent", version: "0.1.0" });
await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
const call = async (name, input) => {
  const { content } = await client.callTool({ name, arguments: { pageId: 1, ...input } });
  return content[0].text;
};
const run = async (toolName, input) => JSON.parse(await call("execute_webmcp_tool", { toolName, input: JSON.stringify(input) }));

await call("navigate_page", { url });
await call("wait_for", { text: ["Ready"] });
const tools = await call("list_webmcp_tools");
const counted = await run("count_seats", { row: "A" });
const invalid = await run("count_seats", { row: 5 });
const failed = await run("count_seats", { row: "Z" });
console.log(JSON.stringify({ tools, counted, invalid, failed }));
await client.close();

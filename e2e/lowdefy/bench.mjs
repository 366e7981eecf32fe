// Measures calls of an app without a browser, beside an echo tool in Node, one in Chromium, a native tool and the page of the load
// generator. Prints lines of JSON.
//
// `node bench.mjs --bridge PROGRAM --native PROGRAM --load PROGRAM --chromium PROGRAM --modules FOLDER --sdk FOLDER --host FOLDER
// [--times N]`
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const text = { type: "string" };
const { values } = parseArgs({ options: { bridge: text, native: text, load: text, chromium: text, modules: text, sdk: text, host: text, times: text, json: { type: "boolean" } } });
const times = Number(values.times ?? 200);
const children = [];
const folder = await mkdtemp(join(tmpdir(), "mcp-web-lowdefy-bench-"));

/** Starts a program, and waits for a line that it prints. */
async function start(command, args, output, expected, env = {}) {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  for await (const line of createInterface({ input: child[output] })) {
    if (!line.includes(expected)) continue;
    child[output].resume();
    return { child, line };
  }
  throw new Error(`${command} has ended before it printed "${expected}"`);
}

/** Installs the packages as npm would, and writes an app with 100 fields and a list. */
async function makeProject() {
  const modules = join(folder, "node_modules");
  await mkdir(modules);
  for (const name of await readdir(values.modules)) {
    if (!name.startsWith(".")) await symlink(join(values.modules, name), join(modules, name));
  }
  await cp(values.sdk, join(modules, "mcp-web-sdk"), { recursive: true });
  await cp(values.host, join(modules, "mcp-web-lowdefy"), { recursive: true });
  const fields = Array.from({ length: 100 }, (_, index) => ({ id: `field_${index}`, type: "TextInput" }));
  const list = { id: "list", type: "ControlledList", blocks: [{ id: "list.$.name", type: "TextInput" }] };
  const page = { id: "form", type: "Box", blocks: [...fields, list] };
  const small = { id: "small", type: "Box", blocks: [{ id: "name", type: "TextInput" }] };
  await writeFile(join(folder, "lowdefy.yaml"), JSON.stringify({ lowdefy: "4.0.0-rc.11", pages: [small, page], mcp: { limits: { maxSessionsPerUser: 1000, callsPerMinute: 1000000 } } }));
  const echo = `import { McpWeb } from "mcp-web-sdk/node";
const mcpWeb = new McpWeb({ name: "echo", bridgeUrl: process.env.BRIDGE_URL, authToken: process.env.TOKEN });
const tool = mcpWeb.addTool({ name: "echo", handler: (input) => input });
await mcpWeb.connect(); await tool.registered; console.log("connected");`;
  await writeFile(join(folder, "echo.mjs"), echo);
}

/** Opens a page with an echo tool in Chromium. */
async function openPage(bridgeUrl, token) {
  const page = `<!doctype html><script type="module">
import { McpWeb } from ${JSON.stringify(`${bridgeUrl}/sdk/mcp-web.js`)};
const mcpWeb = new McpWeb({ name: "page", bridgeUrl: ${JSON.stringify(bridgeUrl)}, authToken: ${JSON.stringify(token)} });
const tool = mcpWeb.addTool({ name: "echo", handler: (input) => input });
await mcpWeb.connect(); await tool.registered; await fetch("/ready");
</script>`;
  const server = createServer();
  const ready = new Promise((resolve) => {
    server.on("request", ({ url }, response) => {
      response.setHeader("content-type", "text/html").end(url === "/" ? page : "");
      if (url === "/ready") resolve();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const args = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${join(folder, "chromium")}`, `http://127.0.0.1:${server.address().port}/`];
  const child = spawn(values.chromium, args, { stdio: "ignore" });
  children.push(child);
  const ended = new Promise((_, reject) => child.once("exit", () => reject(new Error("Chromium has ended before its page was ready"))));
  await Promise.race([ready, ended]);
  ended.catch(() => {});
  server.close();
  server.closeAllConnections();
}

const caller = (url, token) => async (toolName, toolInput = {}) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${url}/tool-call`, { method: "POST", headers, body: JSON.stringify({ toolName, toolInput }) });
  const answer = await response.json();
  if (answer.isError || answer.error) throw new Error(`${toolName}: ${JSON.stringify(answer)}`);
  return answer;
};

async function measure(call, work, count = times) {
  for (let index = 0; index < Math.min(50, count); index += 1) await work(index);
  const taken = [];
  for (let index = 0; index < count; index += 1) {
    const started = performance.now();
    await work(index);
    taken.push(performance.now() - started);
  }
  taken.sort((one, other) => one - other);
  console.log(JSON.stringify({ call, p50_ms: taken[Math.floor(count / 2)], p95_ms: taken[Math.floor(count * 0.95)] }));
}

const memoryOf = async ({ pid }) => Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

try {
  await makeProject();
  const { line } = await start(values.bridge, ["--bind", "127.0.0.1:0"], "stdout", "listening on");
  const url = /http:\/\/\S+/.exec(line)[0];
  const tokens = ["echo", "native", "lowdefy", "chromium", "load"].map((name) => `token-of-the-benchmark-${name}`);
  const [echo, native, lowdefy, chromium, load] = tokens.map((token) => caller(url, token));
  await start(process.execPath, ["echo.mjs"], "stdout", "connected", { BRIDGE_URL: url, TOKEN: tokens[0] });
  const program = await start(values.native, [url, tokens[1], "benchmark"], "stdout", "registered");
  const idle = await memoryOf(program.child);
  await writeFile(join(folder, "tokens"), tokens[2]);
  const command = join(folder, "node_modules/mcp-web-lowdefy/dist/mcp-web-lowdefy.js");
  await start(process.execPath, ["--max-semi-space-size=4", command, "--bridge", url, "--token-file", "tokens"], "stderr", "connected");

  await openPage(url, tokens[3]);
  await start(values.load, ["--bridge", url, "--token", tokens[4], "--pages", "1", "--tools", "1", "--only-pages"], "stdout", "open");

  await measure("an echo tool in Node", () => echo("echo", { a: 1 }));
  await measure("an echo tool in Chromium", () => chromium("echo", { a: 1 }));
  await measure("a tool of a native program", () => native("increment", { by: 1 }));
  await measure("the page of the load generator, 1 kB", () => load("page_0_tool_0"));
  const open = async () => (await lowdefy("session_create", { name: "bench" })).structuredContent.sessionId;
  const sessionId = await open();
  const set = (value) => lowdefy("interact", { sessionId, view: "none", actions: [{ type: "setValue", ref: "name", value }] });
  await measure("`interact`, one `setValue`", (index) => set(`A ${index}`));
  await measure("`get_state`", () => lowdefy("get_state", { sessionId }));
  // As many as a user may have.
  await measure("create and open a session", open, Math.min(times, 20));
  // More sessions than are kept in memory: each call restores one.
  const filled = [];
  for (let index = 0; index < 20; index += 1) {
    const id = await open();
    await lowdefy("navigate", { sessionId: id, pageId: "form", view: "none" });
    const items = Array.from({ length: 50 }, (_, item) => ({ name: `item ${item}` }));
    const values = Object.fromEntries(Array.from({ length: 100 }, (_, field) => [`field_${field}`, `value ${field}`]));
    await lowdefy("interact", { sessionId: id, view: "none", actions: [{ type: "setState", values: { ...values, list: items } }] });
    filled.push(id);
  }
  await measure("`get_state` of a session in memory, 100 fields and 50 items", () => lowdefy("get_state", { sessionId: filled[19] }));
  await measure("`get_state` of a session that is restored, 100 fields and 50 items", (index) => lowdefy("get_state", { sessionId: filled[index % 20] }));
  console.log(JSON.stringify({ call: "memory of a native program that waits", bytes: idle }));
} finally {
  for (const child of children) child.kill();
  await rm(folder, { recursive: true, force: true });
}

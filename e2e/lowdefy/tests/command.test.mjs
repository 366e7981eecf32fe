// The command: one entry of a desktop client, files that change, wrong command lines.
import assert from "node:assert/strict";
import { cp, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { APP, childrenOf, makeFolder, makeToken, openSession, runCommand, secretsFor, startData, startHost, stdioClient, textOf } from "./host.mjs";

const { MCP_WEB_PROGRAM } = process.env;

async function startStdio(t, args = []) {
  const data = await startData(t);
  const store = await makeFolder(t);
  const command = runCommand(t, ["--stdio", "--config", APP, "--store", store, "--program", MCP_WEB_PROGRAM, ...args], { env: secretsFor(data) });
  const client = stdioClient(command);
  const initialized = await client.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } });
  assert.ok(initialized.result, JSON.stringify(initialized));
  client.send({ method: "notifications/initialized" });
  const call = async (name, input) => (await client.request("tools/call", { name, arguments: input })).result;
  return { ...command, ...client, call, store };
}

const isAlive = async (pid) => (await stat(`/proc/${pid}`).catch(() => undefined)) !== undefined;

test("one entry of a desktop client is all: --stdio", async (t) => {
  const { request, call, child, exited, lines, store } = await startStdio(t);
  const { tools } = (await request("tools/list", {})).result;
  const names = tools.map(({ name }) => name);
  for (const name of ["session_create", "session_list", "session_close", "navigate", "interact", "get_state", "get_pages", "page_snapshot", "page_query"]) {
    assert.ok(names.includes(name), `${name}: ${names}`);
  }
  const interact = tools.find(({ name }) => name === "interact");
  assert.deepEqual(interact.inputSchema.required, ["sessionId", "actions"]);
  assert.ok(!("session_id" in interact.inputSchema.properties), "two arguments for a session");
  const { sessionId } = (await call("session_create", { name: "desktop" })).structuredContent;
  const page = await call("navigate", { sessionId, pageId: "order" });
  assert.match(textOf(page), /# New order/);
  const children = await childrenOf(child.pid);
  assert.equal(children.length, 3, "the bridge, the stdio client and the process of the sessions");
  child.stdin.end();
  assert.equal(await exited, 0);
  for (const pid of children) assert.ok(!(await isAlive(pid)), `process ${pid} is still there`);
  for (const line of lines) assert.equal(JSON.parse(line).jsonrpc, "2.0", "stdout carries protocol only");
  assert.equal((await stat(join(store, "token"))).mode & 0o777, 0o600);
});

test("a killed host leaves no process behind", async (t) => {
  const { child, exited } = await startStdio(t);
  const children = await childrenOf(child.pid);
  child.kill("SIGKILL");
  await exited;
  child.stdin.end();
  while ((await Promise.all(children.map(isAlive))).some(Boolean)) {
    await new Promise((resolve) => setTimeout(resolve, 20)); // sleep: the end of a process that is not a child of this one causes no event
  }
});

test("sessions of a desktop client are there after it was started again", async (t) => {
  const first = await startStdio(t);
  const { sessionId } = (await first.call("session_create", { name: "kept" })).structuredContent;
  first.child.kill("SIGTERM");
  assert.equal(await first.exited, 0);
  const second = await startStdio(t, ["--store", first.store]);
  const { sessions } = (await second.call("session_list", {})).structuredContent;
  assert.deepEqual(sessions.map((session) => session.sessionId), [sessionId]);
});

test("--watch takes the files that change, and sessions continue", async (t) => {
  const config = join(await makeFolder(t), "app");
  await cp(APP, config, { recursive: true });
  await symlink(new URL("../node_modules", import.meta.url).pathname, join(config, "node_modules"));
  const host = await startHost(t, { config, data: await startData(t), args: ["--watch"] });
  const { call, interact, state } = await openSession(host);
  await call("navigate", { pageId: "order" });
  await interact({ type: "setValue", ref: "customer", value: "Acme" });
  const file = join(config, "pages/order.yaml");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replaceAll("Save order", "Send order"));
  await host.waitForLine("the app was built again");
  const page = textOf(await call("page_snapshot"));
  assert.match(page, /Send order/);
  assert.equal((await state()).state.customer, "Acme");
  await writeFile(file, `${text}\n  - nonsense: [`);
  await host.waitForLine("the app stays as it was");
  assert.match(textOf(await call("page_snapshot")), /Send order/);
});

test("a wrong command line is said, with the way out", async (t) => {
  const tokens = join(await makeFolder(t), "tokens");
  await writeFile(tokens, `${makeToken()}\n${makeToken()}\n`);
  const rows = [
    [["--nope"], 2, /Unknown option '--nope'.*--help/],
    [["--config", APP, "--bridge", "not a url"], 2, /--bridge must be a URL/],
    [["--format", "html"], 2, /--format must be markdown or outline/],
    [["--config", "/nowhere"], 1, /there is no \/nowhere\/lowdefy\.yaml/],
    [["--config", APP, "--token-file", "/nowhere"], 1, /--token-file cannot be read/],
    [["--config", APP, "--stdio", "--program", "/nowhere"], 1, /--program/],
    [["--config", APP, "--store", "redis://127.0.0.1:1"], 2, /--token-file is needed/],
    [["--config", APP, "--store", "mongodb://127.0.0.1/x", "--token-file", tokens], 1, /--store is neither a path nor a Redis URL/],
    [["--config", APP, "--stdio", "--token-file", tokens], 2, /--stdio has one user/],
  ];
  for (const [args, code, reason] of rows) {
    const command = runCommand(t, [...(args.includes("--store") ? [] : ["--store", await makeFolder(t)]), ...args]);
    assert.equal(await command.exited, code, `${args}: ${command.lines}`);
    assert.match(command.lines.join("\n"), reason);
  }
  const help = runCommand(t, ["--help"]);
  let printed = "";
  help.child.stdout.on("data", (text) => (printed += text));
  assert.equal(await help.exited, 0);
  assert.match(printed, /--token-file <FILE>/);
});

test("without a token file, one token is made and the client's configuration is written", async (t) => {
  const store = await makeFolder(t);
  await mkdir(store, { recursive: true });
  const command = runCommand(t, ["--config", APP, "--bridge", process.env.BRIDGE_URL, "--store", store], { env: secretsFor() });
  await command.waitForLine(" at http");
  const configuration = JSON.parse(await readFile(join(store, "mcp.json"), "utf8"));
  const token = (await readFile(join(store, "token"), "utf8")).trim();
  assert.ok(JSON.stringify(configuration).includes(token));
  for (const name of ["mcp.json", "token"]) assert.equal((await stat(join(store, name))).mode & 0o777, 0o600);
  assert.ok(!command.lines.join("\n").includes(token));
  command.child.kill("SIGTERM");
  assert.equal(await command.exited, 0);
});

test("of two hosts with one token, the newer one has the sessions", async (t) => {
  const data = await startData(t);
  const token = makeToken();
  const older = await startHost(t, { data, token });
  const { sessionId } = await openSession(older);
  const newer = await startHost(t, { data, token, store: older.store });
  assert.equal(await older.exited, 1);
  assert.match(older.lines.join("\n"), /the bridge refuses the connection/);
  assert.match(textOf(await newer.call("page_snapshot", { sessionId })), /# Orders/);
});

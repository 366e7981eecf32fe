// A standard output or standard error that cannot be written: sessions continue.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { APP, caller, makeFolder, makeToken, runCommand, secretsFor, startHost, stdioClient, textOf } from "./host.mjs";

const { MCP_WEB_PROGRAM } = process.env;
const FAULTS = ["closed", "full", "reader gone", "reader stalled"];

/** Opens what cannot be written, for a process that this test starts. */
async function openBroken(t, fault) {
  if (fault === "closed") return "ignore";
  if (fault === "full") return openSync("/dev/full", "w");
  const path = join(await makeFolder(t), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(path, "w");
  if (fault === "reader gone") {
    closeSync(reader);
  } else {
    // A pipe without room for a page may still have room for a byte.
    for (const length of [4096, 1]) {
      try {
        for (;;) writeSync(reader, "\n".repeat(length));
      } catch (error) {
        assert.equal(error.code, "EAGAIN");
      }
    }
    t.after(() => closeSync(reader));
  }
  t.after(() => closeSync(writer));
  return writer;
}

/** Closes a stream in the shell that becomes the command. */
const closing = (fault, number) => (fault === "closed" ? `exec ${number}>&-` : undefined);

/** Opens a session as soon as the host has connected, and returns its id. */
async function createSession(token) {
  for (;;) {
    const { structuredContent } = await caller(token)("session_create", { name: "test" });
    if (structuredContent) return structuredContent.sessionId;
  }
}

for (const number of [1, 2]) {
  for (const fault of FAULTS) {
    test(`a host serves with file descriptor ${number}: ${fault}`, { timeout: 60_000 }, async (t) => {
      const stdio = ["ignore", "ignore", "ignore"];
      stdio[number] = await openBroken(t, fault);
      const token = makeToken();
      const host = await startHost(t, { token, stdio, shell: closing(fault, number) });
      const created = await createSession(token);
      for (let i = 0; i < 5; i++) {
        const { sessions } = (await host.call("session_list", {})).structuredContent;
        assert.deepEqual(sessions.map(({ sessionId }) => sessionId), [created]);
      }
      assert.equal(await host.kill("SIGTERM"), 0);
    });
  }
}

/** Starts the command as a desktop client does, without its standard error. */
async function startStdio(t, fault, { config = APP, args = [], level }) {
  const stdio = ["pipe", "pipe", await openBroken(t, fault)];
  const options = ["--stdio", "--config", config, "--store", await makeFolder(t), "--program", MCP_WEB_PROGRAM];
  const command = runCommand(t, [...options, ...args], { env: { ...secretsFor(), MCP_WEB_LOG: level }, stdio, shell: closing(fault, 2) });
  const { request } = stdioClient(command);
  await request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } });
  const call = async (name, input) => (await request("tools/call", { name, arguments: input })).result;
  const end = () => {
    command.child.stdin.end();
    return command.exited;
  };
  return { request, call, end };
}

for (const level of ["error", "trace"]) {
  for (const fault of FAULTS) {
    test(`--stdio serves at the level ${level} with stderr: ${fault}`, { timeout: 60_000 }, async (t) => {
      const { request, call, end } = await startStdio(t, fault, { level });
      for (let i = 0; i < 30; i++) {
        const { tools } = (await request("tools/list", {})).result;
        assert.ok(tools.some(({ name }) => name === "session_create"));
      }
      assert.ok((await call("session_create", { name: "test" })).structuredContent.sessionId);
      assert.equal(await end(), 0);
    });
  }
}

test("--stdio serves after it has printed something that no process reads", { timeout: 60_000 }, async (t) => {
  const config = join(await makeFolder(t), "app");
  await cp(APP, config, { recursive: true });
  await symlink(new URL("../node_modules", import.meta.url).pathname, join(config, "node_modules"));
  const { call, end } = await startStdio(t, "reader stalled", { config, args: ["--watch"], level: "error" });
  const { sessionId } = (await call("session_create", { name: "test" })).structuredContent;
  await call("navigate", { sessionId, pageId: "order" });
  const file = join(config, "pages/order.yaml");
  const text = await readFile(file, "utf8");
  // After each change, it reports that the app was built again.
  for (const title of ["Send order", "Mail order"]) {
    await writeFile(file, text.replaceAll("Save order", title));
    while (!textOf(await call("page_snapshot", { sessionId })).includes(title));
  }
  assert.equal(await end(), 0);
});

test("--help ends as usual although its output cannot be written", async (t) => {
  for (const fault of FAULTS.slice(0, 3)) {
    const stdio = ["ignore", await openBroken(t, fault), "pipe"];
    const command = runCommand(t, ["--help"], { stdio, shell: closing(fault, 1) });
    assert.equal(await command.exited, 0, fault);
    assert.deepEqual(command.lines, [], fault);
  }
});

// Sessions outlive their process, have an end, and are as many as the app allows.
import assert from "node:assert/strict";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { makeFolder, makeToken, memoryOf, openSession, reasonOf, sessionOf, startData, startHost, textOf } from "./host.mjs";

/** Fills in the order form, with two lines. */
const FILLED = [
  { type: "setValue", ref: "customer", value: "Acme" },
  { type: "callMethod", ref: "lines", method: "pushItem" },
  { type: "setValue", ref: "lines.1.article", value: "nut" },
  { type: "setGlobal", key: "company", value: "Changed Ltd" },
];

async function sessionFile(store, sessionId) {
  const files = await readdir(store, { recursive: true });
  return join(store, files.find((file) => file.endsWith(`${sessionId}.json`)));
}

test("a restarted host continues its sessions after a kill, and runs no onInit again", async (t) => {
  const data = await startData(t);
  const token = makeToken();
  const first = await startHost(t, { data, token });
  const { sessionId, call, interact, state } = await openSession(first);
  await call("navigate", { pageId: "order" });
  const filled = await interact(...FILLED);
  assert.match(textOf(filled), /1 setValue customer ok[^]*4 setGlobal/);
  const before = await state();
  const inits = await data.inits();
  assert.deepEqual(inits, { orders: 1, order: 1 });
  await first.kill("SIGKILL");

  const second = await startHost(t, { data, token, store: first.store });
  const again = sessionOf(second.call, sessionId);
  assert.deepEqual(await again.state(), before);
  assert.equal(before.state.lines.length, 2);
  assert.equal(before.global.company, "Changed Ltd");
  const added = await again.interact({ type: "callMethod", ref: "lines", method: "pushItem" });
  assert.match(textOf(added), /lines\.2\.article/);
  assert.deepEqual(await data.inits(), inits, "onInit ran again");
});

test("a host that is killed during a call leaves the state of the last one that ended", async (t) => {
  const data = await startData(t);
  const token = makeToken();
  const first = await startHost(t, { data, token });
  const { sessionId, call, interact, state } = await openSession(first);
  await call("navigate", { pageId: "order" });
  await interact(...FILLED);
  const before = await state();
  const running = call("interact", { actions: [{ type: "setValue", ref: "customer", value: "Lost" }, { type: "waitFor", text: "never there", ms: 10_000 }] }).catch((error) => error);
  // The first action has been done as soon as the state in memory has it.
  while ((await state()).state.customer !== "Lost");
  await first.kill("SIGKILL");
  const second = await startHost(t, { data, token, store: first.store });
  assert.deepEqual(await sessionOf(second.call, sessionId).state(), before);
  await running;
});

test("the 51st session is refused until one is closed", async (t) => {
  const host = await startHost(t, { data: await startData(t) });
  const created = await Promise.all(Array.from({ length: 50 }, (_, index) => openSession(host, `session ${index}`)));
  const refused = await host.call("session_create", { name: "one more" });
  assert.equal(reasonOf(refused), "SessionLimit", JSON.stringify(refused));
  await host.call("session_close", { sessionId: created[0].sessionId });
  assert.ok((await openSession(host)).sessionId);
  const { sessions } = (await host.call("session_list")).structuredContent;
  assert.equal(sessions.filter(({ status }) => status === "active").length, 50);
});

test("200 sessions of 4 users take less than 400 MB", async (t) => {
  const tokens = Array.from({ length: 4 }, makeToken);
  const host = await startHost(t, { data: await startData(t), token: tokens });
  for (const token of tokens) {
    const { caller } = await import("./host.mjs");
    const mine = { call: caller(token) };
    for (let index = 0; index < 50; index += 1) {
      const { call, interact } = await openSession(mine, `session ${index}`);
      await call("navigate", { pageId: "order", view: "none" });
      await interact(...FILLED);
    }
  }
  const { processes, megabytes } = await memoryOf(host);
  t.diagnostic(`200 sessions of 4 users: ${megabytes.toFixed(0)} MB of memory in ${processes} processes`);
  assert.ok(megabytes < 400, `${megabytes} MB`);
});

test("a session that was not used for a day has expired", async (t) => {
  const data = await startData(t);
  const token = makeToken();
  const first = await startHost(t, { data, token });
  const { sessionId } = await openSession(first);
  await first.kill("SIGTERM");
  const file = await sessionFile(first.store, sessionId);
  const stored = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...stored, updatedAt: stored.updatedAt - 24 * 60 * 60 * 1000 - 1000 }));
  const second = await startHost(t, { data, token, store: first.store });
  const answer = await second.call("page_snapshot", { sessionId });
  assert.equal(reasonOf(answer), "SessionExpired", JSON.stringify(answer));
  const { sessions } = (await second.call("session_list")).structuredContent;
  assert.deepEqual(sessions.map(({ status }) => status), ["expired"]);
});

test("a corrupt file is one session that has expired, and a warning", async (t) => {
  const data = await startData(t);
  const token = makeToken();
  const first = await startHost(t, { data, token });
  const { sessionId } = await openSession(first);
  const other = await openSession(first);
  await first.kill("SIGTERM");
  await writeFile(await sessionFile(first.store, sessionId), '{"version":1,"sess');
  const second = await startHost(t, { data, token, store: first.store });
  assert.equal(reasonOf(await second.call("page_snapshot", { sessionId })), "SessionExpired");
  assert.match(textOf(await sessionOf(second.call, other.sessionId).call("page_snapshot")), /# Orders/);
  assert.ok(second.lines.some((line) => line.includes(sessionId)), second.lines.join("\n"));
});

test("a session that is in use stays the only one of its id", async (t) => {
  const host = await startHost(t, { data: await startData(t) });
  const { call, interact, state } = await openSession(host, "in use");
  await call("navigate", { pageId: "order" });
  const waiting = interact({ type: "setValue", ref: "customer", value: "First" }, { type: "waitFor", ms: 1000 }, { type: "setValue", ref: "quantity", value: 3 });
  for (let index = 0; index < 20; index += 1) await openSession(host, `other ${index}`);
  const second = await interact({ type: "setValue", ref: "note", value: "Second" });
  assert.doesNotMatch(textOf(second), /could not be saved/);
  assert.doesNotMatch(textOf(await waiting), /could not be saved/);
  const { customer, quantity, note } = (await state()).state;
  assert.deepEqual({ customer, quantity, note }, { customer: "First", quantity: 3, note: "Second" });
});

test("a disk that is full fails the call, and keeps the state before it", async (t) => {
  const data = await startData(t);
  const token = makeToken();
  // Blocks of 1024 bytes: a file may have 512 KiB, which is enough for the build.
  const first = await startHost(t, { data, token, shell: "trap '' XFSZ; ulimit -f 512" });
  const { sessionId, call, interact, state } = await openSession(first);
  await call("navigate", { pageId: "order" });
  await interact(...FILLED);
  const before = await state();
  const long = (key) => ({ type: "setState", key, value: "x".repeat(200_000) });
  const failed = await interact(long("one"), long("two"), long("three"));
  assert.match(JSON.stringify(failed), /could not be saved/);
  assert.equal(reasonOf(failed), "StoreUnavailable", JSON.stringify(failed));
  await first.kill("SIGKILL");
  const second = await startHost(t, { data, token, store: first.store });
  assert.deepEqual(await sessionOf(second.call, sessionId).state(), before);
});

test("a store that cannot be written stops the host with a reason", async (t) => {
  const { runCommand, APP } = await import("./host.mjs");
  const file = join(await makeFolder(t), "file");
  await writeFile(file, "");
  const command = runCommand(t, ["--config", APP, "--store", join(file, "store")]);
  assert.equal(await command.exited, 1);
  assert.match(command.lines.join("\n"), /store/);
});

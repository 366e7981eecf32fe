import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { promisify, inspect } from "node:util";

import { createClient } from "redis";

import { openRedisStore, StoreUnavailable, type SessionStore, type StoredSession } from "../../src/stores/index.ts";
import { RedisServer } from "./redis-server.ts";
import { describeStore } from "./store-suite.ts";
import { failureOf, newPrincipal, newSession, runProgram } from "./support.ts";

const PASSWORD = "p/ss 5e3c1 of the test";
const DAY_MS = 24 * 60 * 60 * 1000;

/** Maximum time to report an unavailable server, in milliseconds. */
const AWAY_MS = 5_000;

let server: RedisServer;
before(async () => (server = await RedisServer.start(PASSWORD)));
after(async () => await server?.dispose());

async function command(...args: string[]): Promise<unknown> {
  const client = await createClient({ url: server.url }).connect();
  try {
    return await client.sendCommand(args);
  } finally {
    client.destroy();
  }
}

function keyOf(principal: string, sessionId: string): string {
  return `mcp-web-lowdefy:{${principal}}:session:${sessionId}`;
}

describeStore("sessions in Redis", {
  location: () => server.url,
  overwrite: async (principal, sessionId, text) => void (await command("HSET", keyOf(principal, sessionId), "summary", text)),
});

/** Runs a test with a store of a new principal and one session. */
function redisTest(title: string, body: (given: { store: SessionStore; principal: string; session: StoredSession; key: string; warnings: string[] }) => Promise<void>): void {
  test(title, async () => {
    const principal = newPrincipal();
    const warnings: string[] = [];
    const store = await openRedisStore(server.url, principal, { warn: (text) => warnings.push(text) });
    try {
      const session = await store.create(newSession());
      await body({ store, principal, session, key: keyOf(principal, session.sessionId), warnings });
    } finally {
      await store.dispose();
    }
  });
}

async function failsInTime(promise: Promise<unknown>): Promise<string> {
  const start = performance.now();
  const error = await failureOf("StoreUnavailable", promise);
  assert.ok(performance.now() - start < AWAY_MS, `${performance.now() - start} ms`);
  assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes("5e3c1"), inspect(error));
  return error.message;
}

redisTest("Redis itself removes a session that is gone", async ({ store, principal, session, key }) => {
  await command("PEXPIRE", key, "1000");
  await store.save(session);
  for (const name of [key, `mcp-web-lowdefy:{${principal}}:sessions`]) {
    const ttl = Number(await command("PTTL", name));
    assert.ok(ttl > 2 * DAY_MS - 60_000 && ttl <= 2 * DAY_MS, `${name}: ${ttl}`);
  }
  await command("DEL", key);
  assert.deepEqual(await store.list(), []);
  await store.sweep();
  assert.equal(await command("EXISTS", `mcp-web-lowdefy:{${principal}}:sessions`), 0);
});

redisTest("sessions that Redis removed do not count against the limit", async ({ principal, key }) => {
  const store = await openRedisStore(server.url, principal, { maxSessions: 1 });
  await failureOf("SessionLimit", store.create(newSession()));
  await command("DEL", key);
  await store.create(newSession());
  await store.dispose();
});

redisTest("a key that is not a hash is expired, and can be closed", async ({ store, session, key, warnings }) => {
  await command("SET", key, "text");
  await failureOf("SessionExpired", store.get(session.sessionId));
  await failureOf("SessionExpired", store.save(session));
  assert.deepEqual((await store.list()).map(({ status }) => status), ["expired"]);
  assert.match(warnings.join(), /its key is not a hash/);
  assert.equal(warnings.length, 1);
  await store.close(session.sessionId);
  assert.deepEqual(await store.list(), []);
});

redisTest("a saved state that is not JSON is expired", async ({ store, session, key, warnings }) => {
  await command("HSET", key, "saved", "{");
  await failureOf("SessionExpired", store.get(session.sessionId));
  assert.match(warnings.join(), /its saved state is not JSON/);
});

redisTest("any other error of the server fails the call with its code", async ({ store, principal }) => {
  await command("SET", `mcp-web-lowdefy:{${principal}}:sessions`, "text");
  for (const call of [store.list(), store.create(newSession()), store.sweep()]) assert.match(await failsInTime(call), /answered with an error \([A-Z]+\): check/);
});

redisTest("two prefixes share nothing", async ({ principal, session }) => {
  const store = await openRedisStore(server.url, principal, { prefix: "another:" });
  await failureOf("SessionUnknown", store.get(session.sessionId));
  await store.dispose();
});

redisTest("calls fail in time while the server is unavailable, and work when it is back", async ({ store, session }) => {
  await server.kill();
  try {
    assert.match(await failsInTime(store.save({ ...session, saved: "lost" })), /127\.0\.0\.1:\d+\) does not answer \(ECONNREFUSED\): check that it runs, then retry/);
    await failsInTime(store.list());
  } finally {
    await server.startAgain();
  }
  assert.deepEqual(await store.get(session.sessionId), session);
  assert.equal((await store.save(session)).revision, 2);
});

redisTest("a call survives a restart of the server", async ({ store, session }) => {
  await server.kill();
  const saved = store.save({ ...session, saved: "in the meantime" });
  await server.startAgain();
  assert.equal((await saved).revision, 2);
  assert.equal((await store.get(session.sessionId)).saved, "in the meantime");
});

redisTest("a connection that the server cuts is reopened", async ({ store, session }) => {
  for (let count = 0; count < 5; count++) {
    await command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await store.get(session.sessionId);
  }
});

/** Repeats a save that found no connection in time, as its writer may. A busy machine reconnects slowly. */
async function savedDespiteCuts(store: SessionStore, session: StoredSession, attempts = 10): Promise<StoredSession> {
  try {
    return await store.save(session);
  } catch (error) {
    if (attempts === 1 || !(error instanceof StoreUnavailable)) throw error;
    return await savedDespiteCuts(store, session, attempts - 1);
  }
}

redisTest("no save is lost or stored twice while connections are cut", async ({ store, session }) => {
  let current = await store.save({ ...session, saved: 0 });
  for (let count = 1; count <= 15; count++) {
    const saved = savedDespiteCuts(store, { ...current, saved: count });
    for (let cut = 0; cut < count; cut++) await command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    current = await saved;
  }
  assert.deepEqual(await store.get(session.sessionId), current);
  assert.deepEqual({ saved: current.saved, revision: current.revision }, { saved: 15, revision: 17 });
});

redisTest("a save without an answer is replaced by the next of the same writer, and by no other", async ({ store, principal, session }) => {
  const other = await openRedisStore(server.url, principal);
  await other.get(session.sessionId);
  server.stop();
  try {
    await failsInTime(store.save({ ...session, saved: "without an answer" }));
  } finally {
    server.continue();
  }
  // The server processes messages that it received while it was stopped, in any order of connections.
  let { saved } = await other.get(session.sessionId);
  for (let attempt = 0; attempt < 1000 && saved !== "without an answer"; attempt += 1) ({ saved } = await other.get(session.sessionId));
  assert.equal(saved, "without an answer");
  await failureOf("SessionConflict", other.save({ ...session, saved: "of another" }));
  assert.equal((await store.save({ ...session, saved: "of the same" })).revision, 2);
  await failureOf("SessionConflict", store.save({ ...session, saved: "again" }));
  assert.equal((await other.get(session.sessionId)).saved, "of the same");
  await other.dispose();
});

redisTest("a process ends although the server accepts its connection and does not answer", async ({ principal }) => {
  server.stop();
  try {
    const { code, stdout } = await runProgram("create-sessions.ts", [server.url, principal, "10", "1"]);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "StoreUnavailable\n" });
  } finally {
    server.continue();
  }
});

redisTest("a server without memory fails the save, and the former state stays", async ({ store, session }) => {
  await command("CONFIG", "SET", "maxmemory", "1");
  try {
    assert.match(await failsInTime(store.save({ ...session, saved: "lost" })), /takes no writes now/);
    assert.deepEqual(await store.get(session.sessionId), session);
  } finally {
    await command("CONFIG", "SET", "maxmemory", "0");
  }
  assert.equal((await store.save(session)).revision, 2);
});

test("a wrong password is reported without the password", async () => {
  const store = await openRedisStore(server.url.replace("5e3c1", "5e3c1-wrong"), newPrincipal());
  assert.match(await failsInTime(store.list()), /refused the user, the password or the command/);
  await store.dispose();
});

test("a missing host is reported in time", async () => {
  const store = await openRedisStore("redis://:5e3c1@no-such-host.invalid:6379", newPrincipal());
  assert.match(await failsInTime(store.list()), /no-such-host\.invalid:6379\) does not answer/);
  await store.dispose();
});

test("rediss:// connects with TLS, and rejects a server with an unknown certificate", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mcp-web-tls-"));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  await promisify(execFile)("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]);
  const tls = await RedisServer.start(PASSWORD, ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no"]);
  try {
    const trusted = await runProgram("create-sessions.ts", [tls.url, newPrincipal(), "1", "1"], `export NODE_EXTRA_CA_CERTS=${certificate};`);
    assert.equal(trusted.stdout, "created\n");
    const store = await openRedisStore(tls.url, newPrincipal());
    assert.match(await failsInTime(store.list()), /has a certificate that is not accepted \([A-Z_]*SELF_SIGNED[A-Z_]*\)/);
    await store.dispose();
  } finally {
    await tls.dispose();
    await rm(folder, { recursive: true });
  }
});

test("without the package redis the message says how to install it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mcp-web-no-redis-"));
  try {
    await cp(join(import.meta.dirname, "../../src/stores"), join(folder, "stores"), { recursive: true });
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    const program = `
      const { openStore, principalOfToken } = await import(${JSON.stringify(join(folder, "stores/index.ts"))});
      await (await openStore(${JSON.stringify(join(folder, "sessions"))}, principalOfToken("t"))).dispose();
      await openStore("redis://127.0.0.1", principalOfToken("t")).catch((error) => console.log(error.code, error.message));`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { cwd: folder });
    assert.match(stdout, /^StoreUnavailable sessions in Redis need the npm package redis: run `npm install redis@6`/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

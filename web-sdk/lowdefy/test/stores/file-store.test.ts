import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { inspect } from "node:util";

import { type FileFunctions, NODE_FILES } from "../../src/stores/file-functions.ts";
import { openFileStore, type FileStoreOptions, type SessionStore, type StoredSession } from "../../src/stores/index.ts";
import { describeStore } from "./store-suite.ts";
import { failureOf, newPrincipal, newSession, runProgram, TestClock } from "./support.ts";

let root = "";
before(async () => (root = await mkdtemp(join(tmpdir(), "mcp-web-store-"))));
after(async () => await rm(root, { recursive: true }));

describeStore("sessions in files", {
  location: () => root,
  overwrite: async (principal, sessionId, text) => await writeFile(join(root, principal, `${sessionId}.json`), text),
});

/** Runs a test with a store of a new principal, its folder and one session. */
function fileTest(title: string, body: (given: { store: SessionStore; principal: string; folder: string; session: StoredSession; path: string; warnings: string[]; open: (options?: FileStoreOptions) => Promise<SessionStore> }) => Promise<void>): void {
  test(title, async () => {
    const principal = newPrincipal();
    const warnings: string[] = [];
    const open = async (options: FileStoreOptions = {}): Promise<SessionStore> => await openFileStore(root, principal, { warn: (text) => warnings.push(text), ...options });
    const store = await open();
    const session = await store.create(newSession());
    const folder = join(root, principal);
    await body({ store, principal, folder, session, path: join(folder, `${session.sessionId}.json`), warnings, open });
  });
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

async function unfinishedIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\.(tmp|lock)\./.test(name));
}

/** Returns the names of the owners' files of this process, and of others. */
async function ownersByState(folder: string): Promise<[string[], string[]]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(".owner."));
  const pids = await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")).pid as number));
  return [names.filter((_, index) => pids[index] === process.pid), names.filter((_, index) => pids[index] !== process.pid)];
}

/** Node's functions, of which one fails once its arguments match. */
function failing(name: keyof FileFunctions, pattern: RegExp, code: string): FileFunctions {
  const call = async (...args: unknown[]): Promise<unknown> => {
    if (pattern.test(args.join(" "))) throw Object.assign(new Error(`${code}: of ${args.join(" ")}`), { code, syscall: name });
    return await (NODE_FILES[name] as (...all: unknown[]) => Promise<unknown>)(...args);
  };
  return { ...NODE_FILES, [name]: call };
}

fileTest("files get the mode 0600 and folders 0700, whatever they had", async ({ store, principal, folder, session, path, open }) => {
  await store.save(session);
  for (const name of await readdir(folder)) assert.equal(await modeOf(join(folder, name)), "600", name);
  assert.equal(await modeOf(folder), "700");
  await chmod(folder, 0o755);
  await (await open()).dispose();
  assert.equal(await modeOf(folder), "700");
  const deep = join(root, `deep-${session.sessionId}`, "deeper");
  await (await openFileStore(deep, principal)).dispose();
  for (const made of [join(deep, ".."), deep, join(deep, principal)]) assert.equal(await modeOf(made), "700", made);
  assert.equal(path, join(folder, `${session.sessionId}.json`));
});

fileTest("the file contains everything except the status", async ({ session, path }) => {
  const { status: _, ...record } = session;
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), record);
});

fileTest("a store leaves only the files of its sessions", async ({ store, folder, session, path }) => {
  await store.save(session);
  await store.close((await store.create(newSession())).sessionId);
  await store.dispose();
  assert.deepEqual((await readdir(folder)).map((name) => join(folder, name)), [path]);
});

// The calls of one save in their order; the rename decides which state remains.
for (const { name, pattern, remains } of [
  { name: "link", pattern: "\\.lock\\.[0-9a-f-]{36}$", remains: 1 },
  { name: "open", pattern: "\\.tmp\\.", remains: 1 },
  { name: "rename", pattern: "\\.json$", remains: 1 },
  { name: "unlink", pattern: "\\.lock\\.[0-9a-f-]{36}$", remains: 2 },
] as const) {
  fileTest(`a process that is killed before ${name} of ${pattern} leaves revision ${remains}, and the next save works`, async ({ principal, folder, session, open }) => {
    const end = await runProgram("save-and-die.ts", [root, principal, session.sessionId, name, pattern]);
    assert.equal(end.signal, "SIGKILL", end.stdout);
    const store = await open();
    const got = await store.get(session.sessionId);
    assert.deepEqual({ revision: got.revision, saved: got.saved }, remains === 1 ? { revision: 1, saved: session.saved } : { revision: 2, saved: "of the killed process" });
    const saved = await store.save({ ...got, saved: "of the next" });
    assert.equal((await store.get(session.sessionId)).saved, "of the next");
    assert.equal(saved.revision, remains + 1);
    assert.deepEqual((await unfinishedIn(folder)).filter((left) => left.startsWith(".lock.")), []);
  });
}

fileTest("a process that is killed while it breaks a stale lock leaves a lock that can be broken", async ({ store, principal, folder, session }) => {
  await runProgram("save-and-die.ts", [root, principal, session.sessionId, "rename", "\\.json$"]);
  // This process is killed when it opens the store, which removes the leftovers of the first.
  const end = await runProgram("save-and-die.ts", [root, principal, session.sessionId, "unlink", "\\.lock\\.[0-9a-f-]{36}$"]);
  assert.equal(end.signal, "SIGKILL");
  assert.equal((await unfinishedIn(folder)).filter((left) => left.startsWith(".lock.")).length, 2);
  await store.save({ ...session, saved: "of the next" });
  assert.deepEqual((await unfinishedIn(folder)).filter((left) => left.startsWith(".lock.")), []);
});

fileTest("no save is lost while four processes break a stale lock", async ({ store, principal, session }) => {
  await store.save({ ...session, saved: 0 });
  await runProgram("save-and-die.ts", [root, principal, session.sessionId, "rename", "\\.json$"]);
  const ends = await Promise.all(Array.from({ length: 4 }, () => runProgram("count-up.ts", [root, principal, session.sessionId, "10"])));
  assert.deepEqual(ends.map(({ code }) => code), [0, 0, 0, 0]);
  assert.equal((await store.get(session.sessionId)).saved, 40);
});

fileTest("no acknowledged save is lost while writers are killed", async ({ store, principal, session }) => {
  await store.save({ ...session, saved: 0 });
  let answered = 0;
  const WRITERS = 12;
  const writer = async (lines: number): Promise<void> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "programs", "count-up.ts"), root, principal, session.sessionId, "1000"], { stdio: ["ignore", "pipe", "inherit"] });
    let left = lines;
    createInterface(child.stdout).on("line", () => {
      answered++;
      if (--left === 0) child.kill("SIGKILL");
    });
    await once(child, "close");
  };
  const counts = Array.from({ length: WRITERS }, (_, index) => 1 + ((index * 7) % 11));
  // Three at a time, so that some start while others are killed.
  await Promise.all([0, 1, 2].map(async (first) => {
    for (let index = first; index < WRITERS; index += 3) await writer(counts[index] ?? 1);
  }));
  const { saved, revision } = await store.get(session.sessionId);
  assert.equal(revision, (saved as number) + 2);
  // Each writer may have been killed between a save and its line.
  assert.ok((saved as number) >= answered && (saved as number) <= answered + WRITERS, `${String(saved)} saved, ${answered} answered`);
  await store.save({ ...session, revision });
});

fileTest("the lock of a running process is awaited, and not broken", async ({ store, folder, session }) => {
  const holder = spawn(process.execPath, [join(import.meta.dirname, "programs", "hold-lock.ts"), folder, session.sessionId], { stdio: ["pipe", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  const { message } = await failureOf("StoreUnavailable", store.save(session));
  assert.match(message, /another process uses the session/);
  const saved = store.save(session);
  holder.stdin.end();
  assert.equal((await saved).revision, 2);
});

fileTest("a lock whose process id belongs to another process is stale", async ({ store, folder, session }) => {
  const [name = ""] = (await readdir(folder)).filter((left) => left.startsWith(".owner."));
  const owner = JSON.parse(await readFile(join(folder, name), "utf8")) as Record<string, unknown>;
  await writeFile(join(folder, `.lock.${session.sessionId}`), JSON.stringify({ ...owner, id: "0123456789abcdef", startedAt: "1" }));
  assert.equal((await store.save(session)).revision, 2);
});

fileTest("a lock of another machine is stale only after a minute", async ({ store, folder, session, open }) => {
  const lock = join(folder, `.lock.${session.sessionId}`);
  await writeFile(lock, JSON.stringify({ id: "0123456789abcdef", machine: "another", pid: 1, startedAt: "1" }));
  await failureOf("StoreUnavailable", store.save(session));
  assert.equal(JSON.parse(await readFile(lock, "utf8")).machine, "another");
  // The time that a file system assigns to a change cannot be set, so the function returns the wanted one.
  const files: FileFunctions = {
    ...NODE_FILES,
    open: async (path, ...rest) => {
      const file = await NODE_FILES.open(path, ...rest);
      if (path === lock) file.stat = (async () => ({ ctimeMs: Date.now() - 60_001 })) as unknown as typeof file.stat;
      return file;
    },
  };
  assert.equal((await (await open({ files })).save(session)).revision, 2);
});

fileTest("unfinished files are removed at the start when they are older than a minute", async ({ folder, open }) => {
  await writeFile(join(folder, ".tmp.old"), "{");
  await writeFile(join(folder, ".tmp.new"), "{");
  const old = Date.now() / 1000 - 61;
  await utimes(join(folder, ".tmp.old"), old, old);
  await (await open()).dispose();
  assert.deepEqual(await unfinishedIn(folder), [".tmp.new"]);
});

fileTest("the owner's file of a killed process is removed at the start, and that of a running one is not", async ({ principal, folder, session, open }) => {
  await runProgram("save-and-die.ts", [root, principal, session.sessionId, "rename", "\\.json$"]);
  const owners = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith(".owner."));
  const [running, killed] = await ownersByState(folder);
  assert.deepEqual([running.length, killed.length], [1, 1]);
  await open();
  const left = await owners();
  assert.ok(left.includes(running[0] ?? "") && !left.includes(killed[0] ?? ""), left.join());
});

fileTest("a full disk fails the save, and the former state stays", async ({ store, principal, folder, session }) => {
  const end = await runProgram("save-large.ts", [root, principal, session.sessionId], "ulimit -f 8;");
  const { code, message, before: stored, revision } = JSON.parse(end.stdout);
  assert.deepEqual({ code, stored, revision }, { code: "StoreUnavailable", stored: session.saved, revision: 2 });
  assert.match(message, /^the session store could not be written \(EFBIG\), and the sessions are as before: free space/);
  assert.equal((await store.get(session.sessionId)).saved, "small");
  assert.deepEqual(await unfinishedIn(folder), []);
});

for (const [name, pattern, code] of [
  ["open", /\.tmp\./, "ENOSPC"],
  ["rename", /\.json$/, "EDQUOT"],
  ["link", /\.lock\./, "ENOSPC"],
] as const) {
  fileTest(`${code} of ${name} fails the save without the path, and the state before stays`, async ({ store, folder, session, open }) => {
    const { message } = await failureOf("StoreUnavailable", (await open({ files: failing(name, pattern, code) })).save({ ...session, saved: "lost" }));
    assert.ok(message.includes(code) && !message.includes(root), message);
    assert.deepEqual(await store.get(session.sessionId), session);
    assert.deepEqual(await unfinishedIn(folder), []);
  });
}

fileTest("many sessions are created at once, however long all of them take", async ({ open }) => {
  const now = performance.now.bind(performance);
  let passedMs = 0;
  const rename: FileFunctions["rename"] = async (...paths) => {
    passedMs += 1_500;
    await NODE_FILES.rename(...paths);
  };
  performance.now = () => now() + passedMs;
  try {
    const store = await open({ files: { ...NODE_FILES, rename } });
    // The first create also writes the owner's file.
    await store.create(newSession());
    await Promise.all(Array.from({ length: 20 }, () => store.create(newSession())));
    assert.equal((await store.list()).length, 22);
  } finally {
    performance.now = now;
  }
});

fileTest("too many open files fail a call, and expire no session", async ({ session, warnings, open }) => {
  const store = await open({ files: failing("open", /\.json/, "EMFILE") });
  await failureOf("StoreUnavailable", store.get(session.sessionId));
  await failureOf("StoreUnavailable", store.list());
  assert.deepEqual(warnings, []);
});

fileTest("a folder that cannot be flushed is a warning, because the session is visible", async ({ session, folder, warnings, open }) => {
  const store = await open({ files: failing("open", new RegExp(`^${folder} `), "EIO") });
  assert.equal((await store.save(session)).revision, 2);
  assert.deepEqual(warnings, [], "a save changes no name in the folder");
  assert.equal((await store.create(newSession())).revision, 1);
  assert.match(warnings.join(), /was not flushed \(EIO\)/);
});

fileTest("a save that is stored does not fail because its lock remains", async ({ store, session, open }) => {
  const stuck = await open({ files: failing("unlink", /\.lock\.[0-9a-f-]{36}$/, "EIO") });
  assert.equal((await stuck.save(session)).revision, 2);
  await failureOf("StoreUnavailable", store.save({ ...session, revision: 2 }));
});

fileTest("symbolic links are not followed", async ({ store, folder, session, path, warnings, open }) => {
  const outside = join(root, `outside-${session.sessionId}`);
  await rename(path, outside);
  await symlink(outside, path);
  await failureOf("SessionExpired", store.get(session.sessionId));
  await failureOf("SessionExpired", store.save(session));
  assert.deepEqual((await store.list()).map(({ status }) => status), ["expired"]);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /it is a symbolic link/);
  const text = await readFile(outside, "utf8");
  await store.close(session.sessionId);
  assert.equal(await readFile(outside, "utf8"), text, "the file outside stays");
  const linked = newPrincipal();
  await symlink(folder, join(root, linked));
  await failureOf("StoreUnavailable", openFileStore(root, linked));
  await open();
});

fileTest("a file of more than 16 MiB is expired without being read", async ({ store, session, path, warnings }) => {
  await truncate(path, 16 * 1024 * 1024 + 1);
  await failureOf("SessionExpired", store.get(session.sessionId));
  assert.match(warnings.join(), /16777217 bytes, more than the limit of 16777216/);
});

fileTest("a folder in place of a file is expired", async ({ store, session, path, warnings }) => {
  await rm(path);
  await mkdir(path);
  await failureOf("SessionExpired", store.get(session.sessionId));
  assert.match(warnings.join(), /it is not a file/);
});

fileTest("a file of another session is not used for this one", async ({ store, session, path, warnings }) => {
  const copy = newSession().sessionId;
  await link(path, path.replace(session.sessionId, copy));
  await failureOf("SessionExpired", store.get(copy));
  assert.match(warnings.join(), /it is of another session/);
});

fileTest("other files in the folder are ignored", async ({ store, folder, session }) => {
  for (const name of ["notes.json", `${session.sessionId.toUpperCase()}.json`, `${session.sessionId}.json.bak`, ".json"]) await writeFile(join(folder, name), "{");
  assert.equal((await store.list()).length, 1);
  await store.sweep();
  assert.ok((await readdir(folder)).includes("notes.json"));
});

fileTest("an unreadable file is gone 48 hours after it was written", async ({ session, path, open }) => {
  await writeFile(path, "{");
  const clock = new TestClock();
  const store = await open({ now: clock.now });
  clock.time += 47 * 3600_000;
  await store.sweep();
  assert.equal((await store.list()).length, 1);
  clock.time += 3600_000 + 1000;
  await store.sweep();
  assert.deepEqual(await store.list(), []);
  await assert.rejects(stat(path), { code: "ENOENT" }, session.sessionId);
});

test("a folder that cannot be created is reported without its path", async () => {
  const file = join(root, "a file");
  await writeFile(file, "");
  const error = await failureOf("StoreUnavailable", openFileStore(join(file, "folder"), newPrincipal()));
  assert.match(error.message, /could not be opened \(ENOTDIR\)/);
  assert.ok(!error.message.includes(root), inspect(error));
});

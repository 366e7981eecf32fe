import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type TestContext, test } from "node:test";

import { foldersOfModules } from "../../src/engine/packages.ts";
import { defaultMaxProcesses, defaultProcessMemoryMb } from "../../src/processes/machine.ts";
import { ProcessPool } from "../../src/processes/process-pool.ts";
import { type ProcessOptions, type ProcessOwner, ProcessHandle } from "../../src/processes/process-handle.ts";

const OPTIONS: ProcessOptions = {
  settings: { plugins: { actions: {}, operators: {}, blocks: {} }, knownTexts: [], dynamicOperators: [], maxStateBytes: 1000, maxListItems: 10, format: "markdown", page: {} },
  readable: foldersOfModules([]),
  memoryMb: 200,
  maxCallCpuMs: 1000,
  log: () => {},
};

async function openPool(t: TestContext, limits = {}): Promise<ProcessPool> {
  const pool = await ProcessPool.open(OPTIONS, { maxProcesses: 2, idleMs: 60_000, waitMs: 60_000, ...limits });
  t.after(() => pool.dispose());
  return pool;
}

const owner = (): ProcessOwner => ({ handle: async () => {} });
const { signal: never } = new AbortController();
const processOf = (pool: ProcessPool, whose: ProcessOwner) => pool.use(whose, never, async (process) => process);

test("each user has a process, and keeps it", async (t) => {
  const pool = await openPool(t);
  const [one, two] = [owner(), owner()];
  const [first, second, again] = [await processOf(pool, one), await processOf(pool, two), await processOf(pool, one)];
  assert.notEqual(first.pid, second.pid);
  assert.equal(again, first);
  assert.equal(pool.size, 2);
});

test("a user replaces the least recently active user without a call", async (t) => {
  const pool = await openPool(t);
  const [busy, idle, late] = [owner(), owner(), owner()];
  const end = Promise.withResolvers<void>();
  const working = pool.use(busy, never, async (process) => {
    await end.promise;
    return process;
  });
  const left = await processOf(pool, idle);
  const taken = await processOf(pool, late);
  assert.notEqual(taken, left);
  await left.ended;
  assert.ok(!existsSync(`/proc/${left.pid}`));
  end.resolve();
  assert.ok(!(await working).hasEnded);
});

test("a call waits for a limited time while all processes are in use", async (t) => {
  const pool = await openPool(t, { maxProcesses: 1 });
  const end = Promise.withResolvers<void>();
  const working = pool.use(owner(), never, () => end.promise);
  const waiting = processOf(pool, owner());
  end.resolve();
  await working;
  assert.ok(!(await waiting).hasEnded);
  const full = await openPool(t, { maxProcesses: 1, waitMs: 1 });
  await full.use(owner(), never, async () => {
    await assert.rejects(processOf(full, owner()), /all 1 processes for users are in use \(--max-processes\)/);
  });
});

test("an unused process ends", async (t) => {
  const pool = await openPool(t, { idleMs: 1 });
  const process = await processOf(pool, owner());
  await process.ended;
  assert.ok(process.hasEnded);
});

test("a process that was killed is replaced", async (t) => {
  const pool = await openPool(t);
  const one = owner();
  const first = await processOf(pool, one);
  globalThis.process.kill(first.pid!, "SIGKILL");
  await first.ended;
  const second = await processOf(pool, one);
  assert.notEqual(second.pid, first.pid);
});

test("a user whose process has failed does not replace another user", async (t) => {
  const pool = await openPool(t);
  const [one, two] = [owner(), owner()];
  const [failing, other] = [await processOf(pool, one), await processOf(pool, two)];
  failing.kill({ reason: "ProcessEnded", message: "has failed" });
  const replaced = await processOf(pool, one);
  assert.notEqual(replaced, failing);
  assert.equal(await processOf(pool, two), other);
});

test("a newer build replaces processes when they have no call", async (t) => {
  const pool = await openPool(t);
  const one = owner();
  const former = await pool.use(one, never, async (process) => {
    await pool.reload({ ...OPTIONS });
    assert.ok(!process.hasEnded);
    return process;
  });
  const newer = await processOf(pool, one);
  assert.notEqual(newer, former);
  await former.ended;
});

test("a newer build does not exceed the number of processes", async (t) => {
  const pool = await openPool(t, { maxProcesses: 1 });
  await pool.use(owner(), never, async () => {
    await pool.reload({ ...OPTIONS });
    await pool.reload({ ...OPTIONS });
    assert.equal(pool.size, 1);
  });
});

test("a call that was cancelled while it waited is not made", async (t) => {
  const pool = await openPool(t, { maxProcesses: 1 });
  const end = Promise.withResolvers<void>();
  const working = pool.use(owner(), never, () => end.promise);
  const controller = new AbortController();
  const waiting = pool.use(owner(), controller.signal, () => assert.fail("it was made"));
  controller.abort(new Error("cancelled"));
  await assert.rejects(waiting, /cancelled/);
  end.resolve();
  await working;
});

test("an owner whose calls overlap without end gives its place to a waiting one", async (t) => {
  const pool = await openPool(t, { maxProcesses: 1 });
  const [busy, waiting] = [owner(), owner()];
  const first = Promise.withResolvers<void>();
  const calls = [pool.use(busy, never, () => first.promise)];
  const served = processOf(pool, waiting);
  const second = processOf(pool, busy);
  first.resolve();
  await Promise.all(calls);
  const order: string[] = [];
  await Promise.all([served.then(() => order.push("waiting")), second.then(() => order.push("busy"))]);
  assert.deepEqual(order, ["waiting", "busy"]);
});

test("no process is left when the pool has ended", async () => {
  const pool = await ProcessPool.open(OPTIONS, { maxProcesses: 2, idleMs: 60_000, waitMs: 60_000 });
  const [one, two, late] = [owner(), owner(), owner()];
  const first = await processOf(pool, one);
  const others = Promise.allSettled([two, late].map((whose) => processOf(pool, whose)));
  await pool.dispose();
  const given = (await others).flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  for (const process of [first, ...given]) await process.ended;
  await assert.rejects(processOf(pool, owner()), /the host ends/);
  await assert.rejects(pool.reload({ ...OPTIONS }).then(() => processOf(pool, one)), /the host ends/);
  assert.equal(pool.size, 0);
});

test("an app that no process can load is rejected", async () => {
  const plugins = { actions: { Missing: { specifier: "nowhere/actions", url: "file:///nowhere/actions.js", name: "Missing" } }, operators: {}, blocks: {} };
  await assert.rejects(ProcessHandle.start({ ...OPTIONS, settings: { ...OPTIONS.settings, plugins } }), /nowhere/);
});

test("a process ends with its host", async (t) => {
  const program = `import { ProcessHandle } from ${JSON.stringify(new URL("../../src/processes/process-handle.ts", import.meta.url).href)};
    const started = await ProcessHandle.start({ ...${JSON.stringify(OPTIONS)}, log() {} });
    console.log(started.pid); setInterval(() => {}, 1000);`;
  const { spawn } = await import("node:child_process");
  const host = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", program], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => host.kill("SIGKILL"));
  const [pid] = await once(host.stdout, "data");
  assert.ok(existsSync(`/proc/${Number(pid)}`));
  host.kill("SIGKILL");
  while (existsSync(`/proc/${Number(pid)}`)) {
    await new Promise((resolve) => setTimeout(resolve, 20)); // sleep: the end of a process that is not a child of this one is not reported
  }
});

test("the memory of the computer determines the number of processes", () => {
  const rows = [512, 1024, 4096, 24_000].map((memory) => [memory, defaultProcessMemoryMb(memory), defaultMaxProcesses(memory, defaultProcessMemoryMb(memory))]);
  assert.deepEqual(rows, [
    [512, 128, 3],
    [1024, 128, 6],
    [4096, 128, 24],
    [24_000, 256, 70],
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHECK_MS, type ProcessEnd, Watchdog } from "../../src/processes/watchdog.ts";

/** A watchdog of a process whose usage the test sets. `pass` advances the time. */
function watch(t: import("node:test").TestContext) {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const usage = { cpuMs: 0, bytes: 0 };
  const ends: ProcessEnd[] = [];
  const counts = { gaveWay: 0, pings: 0 };
  const process = { usage: () => ({ ...usage }), ping: () => (counts.pings += 1), kill: (end: ProcessEnd) => void ends.push(end), giveWay: () => (counts.gaveWay += 1) };
  const watchdog = new Watchdog(process, { memoryMb: 100, maxCallCpuMs: 3000 });
  t.after(() => watchdog.stop());
  watchdog.assigned();
  const pass = (ms: number, share: number) => {
    for (let passed = 0; passed < ms; passed += CHECK_MS) {
      now += CHECK_MS;
      usage.cpuMs += CHECK_MS * share;
      watchdog.pong();
      t.mock.timers.tick(CHECK_MS);
    }
  };
  return { watchdog, usage, ends, counts, pass };
}

test("a call that uses too much ends its process", (t) => {
  const { watchdog, ends, pass } = watch(t);
  watchdog.callBegan();
  pass(3000, 1);
  assert.equal(ends.length, 0);
  pass(CHECK_MS, 1);
  assert.equal(ends[0]?.reason, "CallTooLong");
});

test("work between calls ends its process, however many calls there are", (t) => {
  const { watchdog, ends, pass } = watch(t);
  for (let call = 0; call < 20; call += 1) {
    watchdog.callBegan();
    watchdog.callEnded();
    pass(CHECK_MS, 0.9);
  }
  assert.equal(ends[0]?.reason, "CallTooLong");
});

test("endlessly overlapping calls end their process", (t) => {
  const { watchdog, ends, pass } = watch(t);
  watchdog.callBegan();
  for (let call = 0; call < 20; call += 1) {
    watchdog.callBegan();
    pass(500, 0.9);
    watchdog.callEnded();
  }
  assert.equal(ends[0]?.reason, "CallTooLong");
});

test("consecutive calls do not end a process, but lower its priority after a while", (t) => {
  const { watchdog, ends, counts, pass } = watch(t);
  for (let call = 0; call < 100; call += 1) {
    watchdog.callBegan();
    pass(1000, 0.9);
    watchdog.callEnded();
  }
  assert.deepEqual([ends, counts.gaveWay], [[], 1]);
});

test("a process that occasionally collects garbage is not ended", (t) => {
  const { watchdog, ends, counts, pass } = watch(t);
  for (let minute = 0; minute < 20; minute += 1) {
    pass(1000, 0.4);
    pass(59_000, 0);
  }
  assert.deepEqual([ends, counts.gaveWay], [[], 0]);
  assert.ok(watchdog.cpuMs > 7_000);
});

test("memory is limited", (t) => {
  const { usage, ends, pass } = watch(t);
  usage.bytes = 101 * 1024 * 1024;
  pass(CHECK_MS, 0);
  assert.equal(ends[0]?.reason, "ProcessOutOfMemory");
});

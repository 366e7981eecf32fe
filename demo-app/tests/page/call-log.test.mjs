import assert from "node:assert/strict";
import { test } from "node:test";

import { MAX_CALLS, recordCall } from "../../page/js/call-log.js";

const NOW = new Date("2026-03-10T12:00:00Z");
const event = (callId, phase, more = {}) => ({ callId, phase, kind: "tool", name: "list_cards", input: {}, ...more });
const record = (events) => events.reduce((calls, next) => recordCall(calls, next, NOW), []);

test("calls are listed newest first, each with its outcome", () => {
  const calls = record([
    event("a", "started", { client: { name: "one" } }),
    event("b", "started"),
    event("c", "started"),
    event("d", "started"),
    event("a", "finished", { result: { n: 1 }, durationMs: 4 }),
    event("b", "failed", { error: new Error("no card c9"), durationMs: 5 }),
    event("c", "cancelled"),
  ]);
  assert.deepEqual(
    calls.map(({ callId, state, clientName }) => [callId, state, clientName]),
    [
      ["d", "running", "unnamed client"],
      ["c", "cancelled", "unnamed client"],
      ["b", "failed", "unnamed client"],
      ["a", "done", "one"],
    ],
  );
  assert.deepEqual(calls[3].result, { n: 1 });
  assert.equal(calls[2].error.message, "no card c9");
});

test("the log drops the oldest calls", () => {
  const calls = record(Array.from({ length: MAX_CALLS + 1 }, (_, n) => event(`k${n}`, "started")));
  assert.equal(calls.length, MAX_CALLS);
  assert.equal(calls.at(-1).callId, "k1");
});

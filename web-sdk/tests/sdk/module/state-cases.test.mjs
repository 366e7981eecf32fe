// State tools: the list of cases, each with its calls.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runCase } from "./state/run-case.mts";

const CASES = JSON.parse(readFileSync(new URL("state/cases.json", import.meta.url)));

/** Ids and times that a case generates differ between runs. */
const normalized = (value) =>
  JSON.stringify(value ?? null, (_key, value) => {
    if (typeof value === "string" && /^gen-\d+$/.test(value)) return "generated";
    return typeof value === "number" && value > 1000 && value < 3000 ? "time" : value;
  });

const counts = { keep: 0, change: 0 };

for (const entry of CASES) {
  test(`${entry.case}: ${entry.title}`, async () => {
    const result = await runCase(entry);
    const { verdict, now = {}, ...reference } = entry.registration;
    const expected = verdict === "keep" ? reference : now;
    if ("throws" in expected) {
      // The wording of an error is not compared.
      assert.equal(typeof result.throws, "string", JSON.stringify(result));
      return;
    }
    assert.deepEqual(result.tools, expected.tools, result.throws);
    let before = normalized(entry.state);
    entry.calls.forEach((call, index) => {
      const subject = `${call.tool} ${JSON.stringify(call.arguments)}`;
      const done = result.calls[index];
      const { refused, value, state } = call.verdict === "keep" ? call.reference : call.now;
      if (refused === undefined) {
        assert.equal(done.refused, undefined, subject);
        assert.equal(normalized(done.value), normalized(value), subject);
      } else assert.equal(typeof done.refused, "string", subject);
      assert.equal(normalized(done.state), state === "same" ? before : normalized(state), `${subject}: the state`);
      before = normalized(done.state);
      counts[call.verdict]++;
    });
  });
}

test("the list is complete", () => {
  assert.equal(CASES.length, 126);
  assert.deepEqual(counts, { keep: 269, change: 59 });
  for (const entry of CASES) {
    const isChanged = [entry.registration, ...entry.calls].some(({ verdict }) => verdict === "change");
    assert.equal(typeof entry.why === "string", isChanged, entry.case);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { RequestBudget } from "../../src/host/request-budget.ts";

test("a payload with many values is rejected", async () => {
  const payload = Array.from({ length: 10_000 }, () => ({}));
  await assert.rejects(new RequestBudget().spend(payload, () => assert.fail()), /more than 10000 values/);
});

test("requests that do not end are limited", async () => {
  const budget = new RequestBudget();
  const end = Promise.withResolvers<string>();
  const open = Array.from({ length: 32 }, () => budget.spend({}, () => end.promise));
  await assert.rejects(budget.spend({}, () => assert.fail()), /32 requests of this user have not ended/);
  end.resolve("answer");
  assert.deepEqual(await Promise.all(open), Array(32).fill("answer"));
  assert.equal(await budget.spend({}, async () => "again"), "again");
});

test("many requests at once wait for each other", async () => {
  const budget = new RequestBudget();
  const begun = performance.now();
  for (let index = 0; index < 80; index += 1) await budget.spend({}, async () => {});
  // 80 requests cost 80,000, of which 60,000 are free: 20,000 more come in a second.
  assert.ok(performance.now() - begun > 900);
});

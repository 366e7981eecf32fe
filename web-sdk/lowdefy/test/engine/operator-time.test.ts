import assert from "node:assert/strict";
import { test } from "node:test";

import { limitOperatorTime } from "../../src/engine/operator-time.ts";

test("an operator of a request that takes too long is stopped", () => {
  let overruns = 0;
  const match = ({ params }: { params: unknown }) => /^(a+)+$/.test(String(params));
  const operators = limitOperatorTime({ _regex: match, _other: match }, ["_regex"], () => (overruns += 1));
  assert.equal(operators._regex!({ params: "aaa" }), true);
  assert.equal(operators._other, match);
  assert.throws(() => operators._regex!({ params: `${"a".repeat(40)}!` }), /_regex took more than 250 ms/);
  assert.equal(overruns, 1);
  assert.equal(operators._regex!({ params: "b" }), false);
});

test("the error of an operator, and an operator inside another one, are as without a limit", () => {
  const inner = limitOperatorTime({ _regex: () => "inner" }, ["_regex"], () => {});
  const outer = limitOperatorTime({ _operator: () => `${inner._regex!({ params: "" })} and outer` }, ["_operator"], () => {});
  assert.equal(outer._operator!({ params: "" }), "inner and outer");
  const failing = limitOperatorTime({ _regex: () => assert.fail("wrong pattern") }, ["_regex"], () => assert.fail());
  assert.throws(() => failing._regex!({ params: "" }), /wrong pattern/);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { limitOperatorTime } from "../../src/engine/operator-time.ts";

test("an operator of a request that takes too long is stopped", () => {
  let overruns = 0;
  const match = ({ params }: { params: unknown }) => /^(a+)+$/.test(String(params));
  const operators = limitOperatorTime({ _regex: match, _other: match }, ["_regex"], () => (overruns += 1));
  assert.equal(operators._regex!({ params: "aaa" }), true);
  assert.throws(() => operators._regex!({ params: `${"a".repeat(40)}!` }), /the operators of the request took more than 100 ms, the last one was _regex/);
  assert.equal(overruns, 1);
  // The time is that of all operators of the request.
  assert.throws(() => operators._other!({ params: "aaa" }), /the last one was _other/);
});

test("a loop over a function of operators is ended", () => {
  let calls = 0;
  const operators = limitOperatorTime(
    {
      _map: () => {
        for (;;) operators._eq!({ params: "" });
      },
      _eq: () => (calls += 1),
    },
    [],
    () => {},
  );
  assert.throws(() => operators._map!({ params: "" }), /the last one was _eq/);
  assert.ok(calls > 10);
});

test("only the time inside the operators of a request counts", () => {
  const operators = limitOperatorTime({ _eq: () => "equal" }, ["_eq"], () => assert.fail());
  operators._eq!({ params: "" });
  for (const before = process.cpuUsage(); process.cpuUsage(before).user < 150_000; );
  assert.equal(operators._eq!({ params: "" }), "equal");
});

test("errors of operators and nested operators work as without a limit", () => {
  const inner = limitOperatorTime({ _regex: () => "inner" }, ["_regex"], () => {});
  const outer = limitOperatorTime({ _operator: () => `${inner._regex!({ params: "" })} and outer` }, ["_operator"], () => {});
  assert.equal(outer._operator!({ params: "" }), "inner and outer");
  const failing = limitOperatorTime({ _regex: () => assert.fail("wrong pattern") }, ["_regex"], () => assert.fail());
  assert.throws(() => failing._regex!({ params: "" }), /wrong pattern/);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { EVALUATORS, evaluatedTexts, guardActions, guardOperators } from "../../src/engine/known-texts.ts";

const KNOWN = "known";
const rules = { known: new Set([KNOWN]), dynamic: [] };

/** The operator, its method, and a function that puts a text into its parameters. */
const ROWS: [string, string | undefined, (text: unknown) => unknown][] = [
  ["_nunjucks", undefined, (text) => text],
  ["_nunjucks", undefined, (text) => ({ template: text, on: {} })],
  ["_regex", undefined, (text) => text],
  ["_regex", undefined, (text) => ({ pattern: text, on: "any" })],
  ...["match", "replace", "search"].flatMap((method): typeof ROWS => [
    ["_string", method, (text) => ["any", text]],
    ["_string", method, (text) => ({ on: "any", regex: text })],
  ]),
  ["_change_case", "camelCase", (text) => ["any", { splitRegexp: text }]],
  ["_change_case", "camelCase", (text) => ({ on: "any", options: { stripRegexp: { pattern: text } } })],
  ["_mql", "test", (text) => ({ on: {}, test: { $or: [{ name: { $regex: text } }] } })],
  ["_mql", "aggregate", (text) => [[], [{ $match: { name: { $regexMatch: { input: "any", regex: text } } } }]]],
  ["_operator", undefined, (text) => ({ name: text, params: "any" })],
  ["_secret", undefined, (text) => text],
  ["_secret", undefined, (text) => ({ key: text })],
];

test("an operator runs only texts of the configuration", () => {
  for (const [name, methodName, params] of ROWS) {
    const call = (text: unknown, dynamic: string[] = []) => guardOperators({ [name]: () => "ran" }, {}, { ...rules, dynamic })[name]!({ params: params(text), ...(methodName && { methodName }) });
    const row = `${name}.${methodName} ${JSON.stringify(params("text"))}`;
    assert.equal(call(KNOWN), "ran", row);
    for (const text of ["from a client", ["from a client"], [["from a client"]]]) assert.throws(() => call(text), new RegExp(`${name}: the .* is not in the app's configuration`), row);
    assert.equal(call("from a client", [name]), "ran", row);
  }
  const names = new Set(ROWS.map(([name]) => name));
  assert.deepEqual(EVALUATORS.filter((name) => name.startsWith("_")).sort(), [...names].sort());
});

test("a pattern that is an expression of MongoDB is not known", () => {
  const rules = { known: new Set(["$field", "an"]), dynamic: [] };
  for (const regex of ["$field", { $concat: ["a", "n"] }, ["an"], null]) {
    assert.throws(() => guardOperators({ _mql: () => "ran" }, {}, rules)._mql!({ params: { expr: { $regexMatch: { input: "any", regex } } } }), /_mql: the pattern/);
  }
});

test("an operator that an app has renamed is recognised", () => {
  const operators = guardOperators({ _my_regex: () => true }, { _my_regex: { name: "_regex" } }, rules);
  assert.throws(() => operators._my_regex!({ params: "from a client" }), /_regex: the pattern/);
});

test("other operators and methods accept any text", () => {
  const operators = guardOperators({ _string: () => "ran", _eq: () => "ran" }, {}, rules);
  assert.equal(operators._string!({ params: ["any", "text"], methodName: "includes" }), "ran");
  assert.equal(operators._eq!({ params: ["any", "text"] }), "ran");
});

test("an action matches blocks only by patterns of the configuration", () => {
  const { Validate } = guardActions({ Validate: () => "ran" }, {}, rules);
  const run = (params: unknown) => Validate!({ params, globals: {}, methods: {} });
  for (const params of [undefined, true, "block", ["block"], { regex: KNOWN }, { regex: [KNOWN] }]) assert.equal(run(params), "ran");
  for (const params of [{ regex: "^(a+)+$" }, { regex: [KNOWN, "^(a+)+$"] }, { regex: [[["^(a+)+$"]]] }, { regex: [{ toString: "any" }] }]) assert.throws(() => run(params), /Validate: the pattern/);
});

test("the texts of a configuration are those passed to evaluators", () => {
  const config = {
    title: "no",
    visible: { _regex: { pattern: { _if: { test: { _state: "strict" }, then: "one", else: "two" } } } },
    list: [{ "_array.map": { on: [], callback: { _function: { __nunjucks: "three" } } } }],
    call: { _operator: { name: "_eq" } },
    action: { id: "check", type: "Validate", params: { regex: "four" } },
    named: { _my_regex: "five" },
  };
  const texts = evaluatedTexts(config);
  for (const text of ["one", "two", "three", "_eq", "four", "five"]) assert.ok(texts.includes(text), text);
  assert.ok(!texts.includes("no"));
});

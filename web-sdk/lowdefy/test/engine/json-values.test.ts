import assert from "node:assert/strict";
import { test } from "node:test";

import { countValues, countValuesInText } from "../../src/engine/json-values.ts";

test("values are counted, and not characters of texts", () => {
  const value = { a: [1, "b,c:[{\\", 'd"e,'], f: {}, g: null };
  assert.equal(countValues(value), 7);
  // An opening bracket, a colon or a comma for each value.
  assert.equal(countValuesInText(Buffer.from(JSON.stringify(value))), 11);
});

test("deeply nested values are counted", () => {
  const text = "[".repeat(200_000) + "]".repeat(200_000);
  assert.equal(countValuesInText(Buffer.from(text)), 200_001);
  assert.equal(countValues(JSON.parse(text)), 200_000);
});

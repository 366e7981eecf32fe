import assert from "node:assert/strict";
import { test } from "node:test";

import { readSettings } from "../../src/host/settings.ts";

test("the limits of a call's cost can be changed by an app", () => {
  const { maxCallCpuMs, maxStateBytes, maxListItems, dynamicOperators } = readSettings(undefined);
  assert.deepEqual({ maxCallCpuMs, maxStateBytes, maxListItems, dynamicOperators }, { maxCallCpuMs: 10_000, maxStateBytes: 2_097_152, maxListItems: 500, dynamicOperators: [] });
  const changed = readSettings({ limits: { maxCallCpuMs: 1, maxListItems: 10_000 }, dynamicOperators: ["_regex", "Validate"] });
  assert.deepEqual([changed.maxCallCpuMs, changed.maxListItems, changed.dynamicOperators], [1, 10_000, ["_regex", "Validate"]]);
});

test("unknown settings are rejected", () => {
  assert.throws(() => readSettings({ limits: { maxStateBytes: 16 * 1024 * 1024 } }), /mcp.limits.maxStateBytes must be a whole number from 1 to 15728640/);
  assert.throws(() => readSettings({ limits: { maxElements: 0 } }), /mcp.limits.maxElements must be a whole number from 1 to 1000$/);
  assert.throws(() => readSettings({ limits: { maxItems: 1 } }), /there is no limit "maxItems": .*maxElements.*, maxSessionsPerUser, .*maxListItems$/);
  for (const dynamicOperators of ["_regex", ["_eq"], [1], null, {}]) assert.throws(() => readSettings({ dynamicOperators }), /mcp.dynamicOperators must be a list of some of _nunjucks, _regex/);
});

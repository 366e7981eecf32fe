// Warnings to a developer about definitions that some AI clients handle badly.
import assert from "node:assert/strict";
import { test } from "node:test";
import { warningsFor } from "../../../js/mcp-web-dev-warnings.ts";

const tool = (inputSchema) => ({ name: "t", description: "T", inputSchema });
const object = (properties, more) => ({ type: "object", properties, ...more });

const cases = [
  ["tool", { name: "x".repeat(41), description: "T" }, /over 40 characters/],
  ["tool", { name: "écho", description: "T" }, /see it changed/],
  ["tool", { name: "t" }, /no description/],
  ["tool", tool({ type: "string" }), /inputSchema has the type "string"/],
  ["tool", tool({ type: "object", anyOf: [] }), /anyOf at the root/],
  ["tool", tool(object({ a: { type: "array" } })), /inputSchema\.properties\.a is an array without items/],
  ["tool", tool(object({ a: { type: ["array", "null"] } })), /without items/],
  ["tool", tool(object({ a: { anyOf: [{ type: "array" }] } })), /properties\.a\.anyOf\[0\] is an array/],
  ["tool", tool(object({ a: { type: "array", items: [{}] } })), /write prefixItems/],
  ["tool", tool(object({}, { definitions: {} })), /definitions is of an older draft: write \$defs/],
  ["tool", tool(object({ a: { exclusiveMinimum: true } })), /numbers since draft 6/],
  ["tool", tool(object({ a: { $ref: "https://example.com/a.json" } })), /nothing is fetched/],
  ["tool", tool(object({ a: {} }, { required: ["b"] })), /requires "b"/],
  ["tool", { ...tool({}), outputSchema: { type: "array", items: {} } }, /outputSchema has the type "array"/],
  ["tool", { ...tool({}), annotations: { readOnlyHint: true, destructiveHint: true } }, /destructiveHint says nothing/],
  ["prompt", { name: "p" }, /neither title nor description/],
  ["prompt", { name: "p", title: "P", arguments: [{ name: "a" }, { name: "a" }] }, /two arguments "a"/],
  ["resource", { uri: "https://example.com", name: "r" }, /scheme of your own/],
  ["resource", { uri: "a:b", name: "r", mimeType: "text" }, /not a media type/],
  ["resource-template", { uriTemplate: "a:{b", name: "r" }, /not closed/],
  ["resource-template", { uriTemplate: "a:{b}/{?c,b}", name: "r" }, /"b" occurs in it twice/],
];
for (const [kind, definition, advice] of cases) {
  test(`${kind}: ${advice.source}`, () => {
    const [only, ...others] = warningsFor(kind, definition);
    assert.match(only, advice);
    assert.deepEqual(others, []);
  });
}

test("definitions that all clients accept cause no warning", () => {
  const schema = object(
    {
      id: { type: "string" },
      definitions: { type: "array", items: { $ref: "#/$defs/tree" } },
      pair: { type: "array", prefixItems: [{}, {}] },
      limit: { type: "number", exclusiveMinimum: 0 },
    },
    { required: ["id"], $defs: { tree: object({ children: { type: "array", items: { $ref: "#/$defs/tree" } } }) } },
  );
  assert.deepEqual(warningsFor("tool", { name: "t", description: "T", inputSchema: schema, outputSchema: schema }), []);
  assert.deepEqual(warningsFor("prompt", { name: "p", title: "P", arguments: [{ name: "a" }] }), []);
  assert.deepEqual(warningsFor("resource", { uri: "ui://a/b", name: "r", mimeType: "text/html;profile=mcp-app" }), []);
  assert.deepEqual(warningsFor("resource-template", { uriTemplate: "a:{b}{?c,d}", name: "r" }), []);
});

test("two connected pages with the same tool and different tokens are reported once", () => {
  const page = (state, ...tools) => ({ page: { status: { state }, hasTool: (name) => tools.includes(name) } });
  const key = (authToken, sessionName) => JSON.stringify(["http://localhost:3001", "Notes", null, sessionName, authToken]);
  const warnings = (...entries) => {
    globalThis[Symbol.for("mcp-web.pages")] = new Map(entries);
    return warningsFor("tool", { name: "whoami", description: "Names the user" }).length;
  };
  const [ada, bob] = [key("the-token-of-ada"), key("the-token-of-bob")];
  assert.equal(warnings([ada, page("connected", "whoami")]), 0);
  assert.equal(warnings([ada, page("connected", "whoami")], [bob, page("connected", "other")]), 0);
  assert.equal(warnings([ada, page("disconnected", "whoami")], [bob, page("connected", "whoami")]), 0);
  assert.equal(warnings([key(true, "left"), page("connected", "whoami")], [key(true, "right"), page("connected", "whoami")]), 0);
  const both = [[ada, page("connected", "whoami")], [bob, page("connecting", "whoami")]];
  assert.deepEqual([warnings(...both), warnings(...both)], [1, 0]);
  assert.equal(warnings(...both, [key(true), page("loading", "whoami")]), 1);
});

// One user attacks the host: another user of the same host notices nothing.
import assert from "node:assert/strict";
import test from "node:test";

import { textOf } from "./host.mjs";
import { SECRET, setState, startTwo, unnoticed } from "./two-users.mjs";

const paragraph = (id, content) => ({ id, type: "Paragraph", properties: { content } });
const APP = {
  lowdefy: "4.0.0-rc.11",
  mcp: { limits: { maxCallCpuMs: 3000 } },
  pages: [
    {
      id: "p",
      type: "Box",
      blocks: [
        { id: "name", type: "TextInput" },
        paragraph("greeting", { _nunjucks: "Hello {{ name }}" }),
        paragraph("rendered", { _nunjucks: { template: { _state: "template" }, on: {} } }),
        paragraph("matched", { _if: { test: { _regex: { pattern: { _state: "pattern" }, on: { _state: "text" } } }, then: "matches", else: "no match" } }),
        paragraph("slow", { _if: { test: { _regex: { pattern: "^(a+)+$", on: { _if_none: [{ _state: "checked" }, ""] } } }, then: "valid", else: "not valid" } }),
        { id: "list", type: "ControlledList", blocks: [{ id: "list.$.name", type: "TextInput" }, { id: "list.$.note", type: "TextInput" }] },
      ],
    },
  ],
};

test("a template from the state is not run", async (t) => {
  const two = await startTwo(t, APP);
  const template = '{{ range.constructor("return JSON.stringify(process.env)")() }}';
  const answer = await unnoticed(t, two, "template", () => two.attacker.interact(setState({ template, name: "Ada" })));
  assert.ok(!JSON.stringify(answer).includes(SECRET), textOf(answer));
  assert.match(textOf(answer), /_nunjucks: the template is not in the app's configuration/);
  const page = textOf(await two.attacker.call("page_snapshot"));
  assert.match(page, /Hello Ada/);
  assert.ok(!page.includes("PATH"), page);
});

test("a pattern from the state is not run", async (t) => {
  const two = await startTwo(t, APP);
  const answer = await unnoticed(t, two, "pattern", () => two.attacker.interact(setState({ pattern: "^(b+)+$", text: `${"b".repeat(34)}!` })));
  assert.match(textOf(answer), /_regex: the pattern is not in the app's configuration/);
});

test("a call whose pattern takes a minute is ended", async (t) => {
  const two = await startTwo(t, APP);
  const answer = await unnoticed(t, two, "slow pattern of the app", () => two.attacker.interact(setState({ checked: `${"a".repeat(34)}!` })));
  assert.match(JSON.stringify(answer), /3000 ms of processor time \(maxCallCpuMs\)/);
  assert.match(JSON.stringify(answer), /"reason":"CallTooLong"/);
  // The session is as it was before.
  assert.match(textOf(await two.attacker.call("page_snapshot")), /Page: p/);
});

test("many items and large values cost the attacker alone", async (t) => {
  const two = await startTwo(t, APP);
  const list = Array.from({ length: 499 }, () => ({ name: "n", note: "m" }));
  await two.attacker.interact(setState({ list }));
  const large = Array.from({ length: 20 }, (_, index) => setState({ [`large_${index}`]: "x".repeat(200_000) }));
  const answer = await unnoticed(t, two, "499 items and 20 values of 200 kB", () => two.attacker.interact(...large));
  assert.match(JSON.stringify(answer), /maxCallCpuMs|maxStateBytes/);
});

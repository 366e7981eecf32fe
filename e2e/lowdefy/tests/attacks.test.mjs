// One user attacks the host: another user of the same host notices nothing.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";

import { listen } from "../http.mjs";
import { reasonOf, textOf } from "./host.mjs";
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
  // The session is unchanged.
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

const SLOW_TEXT = `${"a".repeat(40)}!`;

/** An app with two requests to a server: one runs a pattern of its page, the other one of the app. */
const withRequests = (baseURL) => {
  const request = (id, pattern, payload) => ({
    id,
    type: "AxiosHttp",
    connectionId: "server",
    payload,
    properties: { params: { valid: { _regex: { pattern, on: { _payload: "text" } } } } },
  });
  const button = (id) => ({ id, type: "Button", events: { onClick: [{ id: "send", type: "Request", params: id }] } });
  const requests = [request("given", { _payload: "pattern" }, { text: "any", pattern: { _state: "pattern" } }), request("own", "^(a+)+$", { text: { _state: "text" } })];
  const blocks = [{ id: "name", type: "TextInput" }, button("given"), button("own")];
  const connections = [{ id: "server", type: "AxiosHttp", properties: { baseURL, headers: { "x-key": { _secret: "PASSPHRASE" } } } }];
  return { lowdefy: "4.0.0-rc.11", connections, pages: [{ id: "p", type: "Box", requests, blocks }] };
};

test("patterns in requests, which the host makes, stop no user", async (t) => {
  const asked = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push(url);
    const key = headers["x-key"];
    const spellings = { [key]: [Buffer.from(`user:${key}`).toString("base64"), new URLSearchParams({ key }).toString(), encodeURIComponent(encodeURIComponent(key))] };
    response.setHeader("content-type", "application/json").end(JSON.stringify(spellings));
  });
  const { url: baseURL, close } = await listen(server);
  t.after(close);
  const two = await startTwo(t, withRequests(baseURL));
  const click = (ref) => ({ type: "triggerEvent", ref, event: "onClick" });
  const { attacker } = two;
  assert.match(textOf(await attacker.interact(setState({ pattern: "^(b+)+$" }), click("given"))), /_regex: the pattern is not in the app's configuration/);
  assert.match(textOf(await attacker.interact(setState({ text: "aaa" }), click("own"))), /2 triggerEvent own onClick ok/);
  assert.deepEqual(asked, ["/?valid=true"]);
  const { requests } = await attacker.state();
  assert.deepEqual(Object.keys(requests.own.response.data ?? requests.own.response), ["(secret)"], JSON.stringify(requests));
  assert.doesNotMatch(JSON.stringify(requests), /correct|Y29ycmVjd|horse/);
  let answer;
  await unnoticed(t, two, "slow pattern in requests", async () => {
    const first = await attacker.interact(setState({ text: SLOW_TEXT }), click("own"));
    // If the attack is run again, its first request also waits.
    answer ??= first;
    for (let index = 0; index < 10; index += 1) assert.match(textOf(await attacker.interact(click("own"))), /requests of this user wait for \d+ s/);
  });
  assert.match(textOf(answer), /the operators of the request took more than 100 ms, the last one was _regex/);
  assert.equal(reasonOf(answer), undefined);
  assert.equal(asked.length, 1);
});

test("the state and the lists of a session have limits, which are named", async (t) => {
  const app = { ...APP, mcp: { limits: { maxListItems: 3, maxStateBytes: 2000 } } };
  const { attacker } = await startTwo(t, app);
  assert.match(textOf(await attacker.interact(setState({ list: Array.from({ length: 4 }, () => ({})) }))), /more than 3 items \(maxListItems\)/);
  const push = { type: "callMethod", ref: "list", method: "pushItem" };
  assert.match(textOf(await attacker.interact(push, push, push, push)), /4 callMethod list pushItem failed ActionFailed: it threw "list has 3 items, which is the most \(maxListItems\)/);
  const value = "x".repeat(700);
  assert.match(textOf(await attacker.interact(setState({ a: value }), setState({ b: value }), setState({ c: value }))), /3 setState failed ActionFailed: the state would have more than 2000 bytes \(maxStateBytes\)/);
});

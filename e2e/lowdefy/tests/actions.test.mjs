// Each kind of block takes the values that its user could give it, and an action that cannot be done is reported.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { makeFolder, makeToken, openSession, sessionOf, startHost, textOf } from "./host.mjs";

const OPTIONS = ["red", { label: "Dark blue", value: "navy" }, { label: "Gone", value: "gone", disabled: true }];

const APP = {
  lowdefy: "4.0.0-rc.11",
  name: "Inputs",
  mcp: { format: "outline", limits: { callsPerMinute: 1000, maxActionsPerCall: 90 } },
  pages: [
    {
      id: "inputs",
      type: "Box",
      requests: [],
      blocks: [
        { id: "text", type: "TextInput", properties: { title: "Text", maxLength: 5 }, events: { onChange: [{ id: "count", type: "SetState", params: { changes: { _sum: [{ _if_none: [{ _state: "changes" }, 0] }, 1] } } }] } },
        { id: "off", type: "TextInput", properties: { title: "Off", disabled: true } },
        { id: "secret", type: "PasswordInput", properties: { title: "Secret" } },
        { id: "number", type: "NumberInput", properties: { title: "Number", min: 0, max: 10 } },
        { id: "select", type: "Selector", properties: { title: "Colour", options: OPTIONS } },
        { id: "many", type: "MultipleSelector", properties: { title: "Colours", options: OPTIONS } },
        { id: "radio", type: "RadioSelector", properties: { title: "Radio", options: OPTIONS } },
        { id: "checks", type: "CheckboxSelector", properties: { title: "Checks", options: OPTIONS } },
        { id: "day", type: "DateSelector", properties: { title: "Day" } },
        { id: "month", type: "MonthSelector", properties: { title: "Month" } },
        { id: "range", type: "DateRangeSelector", properties: { title: "Range" } },
        { id: "on", type: "Switch", properties: { title: "On" } },
        { id: "hidden", type: "TextInput", visible: { _eq: [{ _state: "on" }, true] }, properties: { title: "Hidden" } },
        { id: "open", type: "Button", properties: { title: "Open" }, events: { onClick: { try: [{ id: "open", type: "CallMethod", params: { blockId: "modal", method: "toggleOpen" } }], debounce: { ms: 60_000 } } } },
        { id: "modal", type: "Modal", properties: { title: "Question" }, blocks: [{ id: "inside", type: "TextInput", properties: { title: "Inside" } }] },
        { id: "browser", type: "Button", properties: { title: "Browser" }, events: { onClick: [{ id: "scroll", type: "ScrollTo", params: { blockId: "text" } }, { id: "login", type: "Login" }, { id: "media", type: "SetState", params: { size: { _media: "size" }, path: { _location: "pathname" } } }] } },
        { id: "fails", type: "Button", properties: { title: "Fails" }, events: { onClick: [{ id: "throw", type: "Throw", params: { throw: true, message: "It went wrong" } }] } },
        { id: "away", type: "Anchor", properties: { title: "Away", url: "https://example.com" } },
        { id: "endless", type: "Button", properties: { title: "Endless" }, events: { onClick: [{ id: "wait", type: "Wait", params: { ms: 600_000 } }] } },
        { id: "list", type: "ControlledList", properties: { title: "List" }, blocks: [{ id: "list.$.name", type: "TextInput", properties: { title: "Name" } }] },
      ],
    },
  ],
};

async function open(t, app = APP) {
  const config = await makeFolder(t);
  await writeFile(join(config, "lowdefy.yaml"), JSON.stringify(app));
  return openSession(await startHost(t, { config }));
}

const set = (ref, value) => ({ type: "setValue", ref, value });

test("values become what the block's own component makes of them", async (t) => {
  const { interact, state } = await open(t);
  const rows = [
    [set("text", "a\nb"), "text", "ab"],
    [set("number", "7.5"), "number", 7.5],
    [set("select", "Dark blue"), "select", "navy"],
    [set("select", "red"), "select", "red"],
    [set("select", null), "select", null],
    [set("many", ["Dark blue", "red"]), "many", ["navy", "red"]],
    [set("radio", "Dark blue"), "radio", "navy"],
    [{ type: "triggerEvent", find: { role: "radio", name: "red" }, event: "onClick" }, "radio", "red"],
    [{ type: "setValue", find: { role: "checkbox", name: "Dark blue" }, value: true }, "checks", ["navy"]],
    [set("day", "2026-03-04"), "day", "2026-03-04T00:00:00.000Z"],
    [set("month", "2026-03"), "month", "2026-03-01T00:00:00.000Z"],
    [set("range", ["2026-03-04", "2026-03-06"]), "range", ["2026-03-04T00:00:00.000Z", "2026-03-06T00:00:00.000Z"]],
    [set("on", true), "on", true],
    [{ type: "triggerEvent", ref: "on", event: "onClick" }, "on", false],
    [set("secret", "hunter22"), "secret", "(hidden)"],
  ];
  for (const [action, key, expected] of rows) {
    const answer = await interact(action);
    assert.match(textOf(answer), /^1 \w+ \S+.* ok/, JSON.stringify([action, answer]));
    assert.deepEqual((await state()).state[key], expected, JSON.stringify(action));
    assert.ok(!JSON.stringify(answer).includes("hunter22"));
  }
  assert.equal((await state()).state.changes, 1, "onChange runs as for a user");
});

test("what cannot be done is refused with the reason", async (t) => {
  const { interact, state } = await open(t);
  const before = await state();
  const rows = [
    [set("nothing", "x"), "TargetNotFound"],
    [set("off", "x"), "TargetDisabled"],
    [set("hidden", "x"), "TargetHidden"],
    [set("inside", "x"), "TargetHidden"],
    [set("open", "x"), "NotEditable"],
    [set("number", "many"), "ValueRefused"],
    [set("select", "Green"), "OptionNotFound"],
    [set("select", "gone"), "TargetDisabled"],
    [set("day", "tomorrow"), "ValueRefused"],
    [set("range", "2026-03-04"), "ValueRefused"],
    [{ type: "triggerEvent", ref: "text", event: "onFocus" }, "EventUnknown"],
    [{ type: "triggerEvent", ref: "open", event: "onChange" }, "EventUnknown"],
    [{ type: "callMethod", ref: "text", method: "focus" }, "MethodUnknown"],
    [{ type: "callMethod", ref: "list", method: "constructor" }, "MethodUnknown"],
    [{ type: "pressKey", key: "Enter" }, "ActionUnsupported"],
    [{ type: "hover", ref: "text" }, "ActionUnsupported"],
    [{ type: "scroll", deltaY: 10 }, "ActionUnsupported"],
    [{ type: "drag", ref: "text", to: { ref: "number" } }, "ActionUnsupported"],
    [{ type: "navigate", pageId: "elsewhere" }, "PageUnknown"],
    [set("text", "too long"), "ok"],
    [set("number", 99), "ok"],
  ];
  for (const [action, code] of rows) {
    const answer = await interact(action);
    const line = textOf(answer).split("\n")[0];
    assert.ok(code === "ok" ? / ok/.test(line) : line.includes(`failed ${code}: `), `${JSON.stringify(action)}: ${line}`);
    if (code === "ok") break;
    assert.deepEqual(await state(), before, JSON.stringify(action));
  }
  assert.match(textOf(await interact(set("text", "too long"))), /^1 setValue text ok/);
  assert.equal((await state()).state.text, "too l");
});

test("a dialog covers the page until it is closed", async (t) => {
  const { interact, interactAll, call } = await open(t);
  const opened = await interact({ type: "triggerEvent", ref: "open", event: "onClick" });
  assert.match(textOf(opened), /dialog "Question"[^]*textbox "Inside"/);
  assert.doesNotMatch(textOf(await call("page_snapshot")), /textbox "Text"/);
  const both = await interactAll(set("text", "x"), set("inside", "y"));
  assert.match(textOf(both), /1 setValue text failed TargetCovered[^]*2 setValue inside ok/);
  const closed = await interact({ type: "triggerEvent", find: { role: "button", name: "Ok" }, event: "onClick" });
  assert.match(textOf(closed), /1 triggerEvent modal\/ok onClick ok/);
  assert.match(textOf(await call("page_snapshot")), /textbox "Text"/);
});

test("items of a list are added and removed by its buttons", async (t) => {
  const { interact, state } = await open(t);
  await interact({ type: "triggerEvent", find: { role: "button", name: "Add Item" }, event: "onClick" }, set("list.0.name", "a"), { type: "callMethod", ref: "list", method: "pushItem" }, set("list.1.name", "b"));
  assert.deepEqual((await state()).state.list, [{ name: "a" }, { name: "b" }]);
  const removed = await interact({ type: "triggerEvent", ref: "list/remove.0", event: "onClick" }, set("list.1.name", "c"));
  assert.match(textOf(removed), /1 triggerEvent list\/remove\.0 onClick ok[^]*2 setValue list\.1\.name failed TargetStale/);
  assert.deepEqual((await state()).state.list, [{ name: "b" }]);
});

test("an action that needs a browser is a warning, and the app continues", async (t) => {
  const { interact, state } = await open(t);
  const answer = await interact({ type: "triggerEvent", ref: "browser", event: "onClick" }, { type: "triggerEvent", ref: "fails", event: "onClick" }, { type: "triggerEvent", ref: "away", event: "onClick" });
  const text = textOf(answer);
  assert.match(text, /1 triggerEvent browser onClick ok[^]*ScrollTo needs a browser[^]*Login needs a browser/);
  assert.match(text, /2 triggerEvent fails onClick ok[^]*message error: "It went wrong"/);
  assert.match(text, /3 triggerEvent away onClick ok[^]*the link to https:\/\/example\.com was not followed/);
  const { size, path } = (await state()).state;
  assert.deepEqual([size, path], ["xl", "/inputs"]);
});

test("an action that does not end fails in time, and the session continues", async (t) => {
  const { interactAll } = await open(t, { ...APP, mcp: { format: "outline", limits: { actionTimeoutMs: 300 } } });
  const answer = await interactAll({ type: "triggerEvent", ref: "endless", event: "onClick" }, set("text", "on"));
  assert.match(textOf(answer), /1 triggerEvent endless onClick failed ActionTimeout[^]*2 setValue text ok/);
});

test("a button cannot be clicked again while its actions run", async (t) => {
  const { interactAll } = await open(t, { ...APP, mcp: { format: "outline", limits: { actionTimeoutMs: 300 } } });
  const click = { type: "triggerEvent", ref: "endless", event: "onClick" };
  assert.match(textOf(await interactAll(click, click)), /1 triggerEvent endless onClick failed ActionTimeout[^]*2 triggerEvent endless onClick failed TargetDisabled/);
});

test("onMount runs once, and not again when a session is restored", async (t) => {
  const counts = { type: "Box", id: "box", events: { onMount: [{ id: "count", type: "SetState", params: { mounts: { _sum: [{ _if_none: [{ _state: "mounts" }, 0] }, 1] } } }] }, blocks: [{ id: "text", type: "TextInput" }] };
  const config = await makeFolder(t);
  await writeFile(join(config, "lowdefy.yaml"), JSON.stringify({ lowdefy: "4.0.0-rc.11", pages: [{ id: "p", type: "Box", blocks: [counts] }] }));
  const token = makeToken();
  const first = await startHost(t, { config, token });
  const { sessionId, state } = await openSession(first);
  assert.equal((await state()).state.mounts, 1);
  await first.kill("SIGKILL");
  const second = sessionOf((await startHost(t, { config, token, store: first.store })).call, sessionId);
  await second.interact(set("text", "x"));
  assert.equal((await second.state()).state.mounts, 1);
});

test("limits and unknown settings of lowdefy.yaml", async (t) => {
  const { call } = await open(t, { ...APP, mcp: { limits: { callsPerMinute: 3 } } });
  for (let index = 0; index < 2; index += 1) assert.ok(!(await call("page_snapshot")).isError);
  const refused = await call("page_snapshot");
  assert.match(JSON.stringify(refused), /more than 3 calls within a minute/);
  const { runCommand } = await import("./host.mjs");
  for (const [mcp, reason] of [
    [{ limit: {} }, /mcp\.limit is not known/],
    [{ limits: { maxActions: 1 } }, /there is no limit "maxActions"/],
    [{ limits: { maxSessionsPerUser: 0 } }, /maxSessionsPerUser must be a whole number from 1/],
    [{ format: "html" }, /mcp\.format must be outline or markdown/],
  ]) {
    const config = await makeFolder(t);
    await writeFile(join(config, "lowdefy.yaml"), JSON.stringify({ ...APP, mcp }));
    const command = runCommand(t, ["--config", config]);
    assert.equal(await command.exited, 1);
    assert.match(command.lines.join("\n"), reason);
  }
});

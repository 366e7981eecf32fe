/**
 * No action reads or affects the private parts of an app, whatever its target is. Each action is tried on each thing from
 * which the browser takes events to another element. Each row runs with a private part, and without one, where the action
 * must not be refused. Ways that reach a thing in that case are tried again in a hidden tab.
 */

import { assert } from "./assert.js";
import { nextTask } from "./mcp-web/next-task.ts";
import { nodesOf, treeAtOnce } from "./page-fixture.js";
import { DomDriver } from "./page-tools/dom/driver.ts";
import { hide } from "./person.js";

const NEVER = new AbortController().signal;
const TEXT = "s3cret";
const FRAME = `<iframe id="s" KEPT name="fr" src="/assert.js"></iframe>`;
const loaded = ({ s }) => new Promise((resolve) => (s.onload = resolve));

const named = async ({ s }) => (await loaded({ s }), (s.contentWindow.name = "other"));

/**
 * The target has the id `t`. The part that may be private has the id `s` and the mark KEPT. `apart` may be outside of the
 * root.
 */
const THINGS = {
  "a private part in its middle": { html: `<div id="t" role="group" tabindex="0" aria-label="T"><div id="s" KEPT style="height:40px">${TEXT}</div></div>` },
  "a private button in its middle": { html: `<div id="t" role="group" tabindex="0" aria-label="T"><button id="s" KEPT type="button" style="width:100%">${TEXT}</button></div>` },
  "the label of a box in its middle": { html: `<div id="t" role="group" tabindex="0" aria-label="T"><label for="s" style="display:block">Label</label></div>`, apart: `<input type="checkbox" id="s" KEPT>` },
  "a label around a box": { html: `<label id="t">Label <input type="checkbox" id="s" KEPT></label>` },
  "a label of a field": { html: `<label id="t" for="s">Label</label>`, apart: `<input id="s" KEPT value="${TEXT}">` },
  "a label of a submit button": { html: `<label id="t" for="b">Label</label>`, apart: `<form id="s" KEPT><button id="b">${TEXT}</button></form>` },
  "a text in a label": { html: `<label for="s"><b id="t" tabindex="0">Label</b></label>`, apart: `<input type="checkbox" id="s" KEPT>` },
  "a button of a form elsewhere": { html: `<button id="t" form="s">T</button>`, apart: `<form id="s" KEPT><input name="n" value="${TEXT}"></form>` },
  "an image button of a form elsewhere": { html: `<input type="image" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" style="width:40px;height:40px" alt="T" id="t" form="s">`, apart: `<form id="s" KEPT></form>` },
  "a field of a form elsewhere": { html: `<input id="t" aria-label="T" form="s">`, apart: `<form id="s" KEPT></form>` },
  "a field whose form has a button elsewhere": { html: `<form id="f"><input id="t" aria-label="T"></form>`, apart: `<button id="s" KEPT form="f">${TEXT}</button>` },
  "a box of a form with a private button": { html: `<form><input type="checkbox" id="t" aria-label="T"><button id="s" KEPT>${TEXT}</button></form>` },
  "a button that resets a field": { html: `<form><button id="t" type="reset">T</button><input id="s" KEPT></form>`, before: ({ s }) => (s.value = TEXT) },
  "a button that resets a form elsewhere": { html: `<button id="t" type="reset" form="f">T</button>`, apart: `<form id="f"></form><input id="s" KEPT form="f">`, before: ({ s }) => (s.value = TEXT) },
  "a field of a form with a private one": { html: `<form><input id="t" aria-label="T"><input id="s" KEPT></form>`, before: ({ s }) => (s.value = TEXT) },
  "a form with a field that is not valid": { html: `<form><button id="t">T</button><input id="s" KEPT type="email" value="${TEXT}"></form>` },
  "a form with a field that is not valid, behind one that is not shown": { html: `<form><input required style="display: none"><button id="t">T</button><input id="s" KEPT type="email" value="${TEXT}"></form>` },
  "a form with a field elsewhere that is not valid": { html: `<form id="f"><button id="t">T</button></form>`, apart: `<input id="s" KEPT form="f" type="email" value="${TEXT}">` },
  "a radio button of a group": { html: `<input type="radio" name="r" id="t" aria-label="T">`, apart: `<input type="radio" name="r" id="s" KEPT checked>` },
  "a radio button of a group in a shadow root": { html: `<x-box></x-box>`, shadow: `<input type="radio" name="r" id="t" aria-label="T"><input type="radio" name="r" id="s" KEPT checked>` },
  "a summary of a group in a shadow root": { html: `<x-box></x-box>`, shadow: `<details name="d"><summary id="t">T</summary>x</details><details name="d" id="s" KEPT open><summary>S</summary>${TEXT}</details>` },
  "a summary of a group": { html: `<details name="d"><summary id="t">T</summary>x</details>`, apart: `<details name="d" id="s" KEPT open><summary>S</summary>${TEXT}</details>` },
  "a button of a popover": { html: `<button id="t" popovertarget="s">T</button>`, apart: `<div popover id="s" KEPT>${TEXT}</div>` },
  "an input of a popover": { html: `<input type="button" value="T" id="t" popovertarget="s">`, apart: `<div popover id="s" KEPT>${TEXT}</div>` },
  "a button that hides a popover": { html: `<button id="t" popovertarget="s" popovertargetaction="hide">T</button>`, apart: `<div popover="manual" id="s" KEPT>${TEXT}</div>`, before: ({ s }) => s.showPopover() },
  "a button with a command for a dialog": { html: `<button id="t" command="show-modal" commandfor="s">T</button>`, apart: `<dialog id="s" KEPT>${TEXT}</dialog>` },
  "a button with a command of the app": { html: `<button id="t" command="--own" commandfor="s">T</button>`, apart: `<div id="s" KEPT>${TEXT}</div>` },
  "a button of a popover that dismisses another": { html: `<button id="t" popovertarget="p">T</button><div popover id="p">P</div>`, apart: `<div popover id="s" KEPT>${TEXT}</div>`, before: ({ s }) => s.showPopover() },
  "a button of a popover that dismisses one in a shadow root": { html: `<button id="t" popovertarget="p">T</button><div popover id="p">P</div><x-box></x-box>`, shadow: `<div popover id="s" KEPT>${TEXT}</div>`, before: ({ s }) => s.showPopover() },
  "a button of a dialog with a first field": { html: `<button id="t" command="show-modal" commandfor="d">T</button><dialog id="d"><input id="s" KEPT value="${TEXT}"></dialog>` },
  "a button of a popover with a first field": { html: `<button id="t" popovertarget="p">T</button><div popover id="p"><input id="s" KEPT autofocus value="${TEXT}"></div>` },
  "a popover with a form": { html: `<input id="t" aria-label="T">`, apart: `<div popover id="s" KEPT>${TEXT}</div>`, before: ({ s }) => s.showPopover() },
  "a dialog where a field has the focus": { html: `<dialog open id="t" aria-label="T" style="position:static">D <input id="s" KEPT value="${TEXT}"></dialog>`, before: ({ s }) => s.focus() },
  "a group where a field has the focus": { html: `<div id="t" role="group" draggable="true" aria-label="T">D <input type="checkbox" id="s" KEPT></div>`, before: ({ s }) => s.focus() },
  "a list of options": { html: `<select id="t" aria-label="T"><option selected>a</option><option id="s" KEPT value="${TEXT}">${TEXT}</option><option>c</option></select>`, state: ({ t }) => t.selectedIndex === 1 },
  "an editor with a part that is selected": { html: `<div id="t" role="textbox" contenteditable aria-label="T">public <b id="s" KEPT>${TEXT}</b> end</div>`, before: ({ t }) => (t.focus(), getSelection().selectAllChildren(t)) },
  "an editor with the caret behind a part": { html: `<div id="t" role="textbox" contenteditable aria-label="T">public <b id="s" KEPT>${TEXT}</b></div>`, before: ({ t, s }) => (t.focus(), getSelection().collapse(s.firstChild, TEXT.length)) },
  "an editor with the caret before a part": { html: `<div id="t" role="textbox" contenteditable aria-label="T">public<b id="s" KEPT>${TEXT}</b></div>`, before: ({ t }) => (t.focus(), getSelection().collapse(t.firstChild, 6)) },
  "what is in a slot": { html: `<x-box><div id="s" KEPT style="height:40px">${TEXT}</div></x-box>`, shadow: `<div id="t" role="group" tabindex="0" aria-label="T"><slot></slot></div>` },
  "what is around a slot": { html: `<x-box><button id="t" type="button">T</button></x-box>`, shadow: `<label><slot></slot><input type="checkbox" id="s" KEPT></label>` },
  "what gives its focus to a field in it": { html: `<x-box id="t" tabindex="0" role="group" aria-label="T" style="display:block"></x-box>`, shadow: `<p>Text</p><input id="s" KEPT value="${TEXT}">`, options: { delegatesFocus: true } },
  "a link that loads a frame": { html: `<a id="t" href="/never" target="fr">T</a>`, apart: FRAME, before: loaded, isSent: true },
  "a link of an SVG that loads a frame": { html: `<svg width="40" height="40"><a id="t" href="/never" target="fr" aria-label="T"><rect width="40" height="40"/></a></svg>`, apart: FRAME, before: loaded, isSent: true },
  "an old link of an SVG that loads a frame": { html: `<svg width="40" height="40"><a id="t" xlink:href="/never" target="fr" aria-label="T"><rect width="40" height="40"/></a></svg>`, apart: FRAME, before: loaded, isSent: true },
  "a form that loads a frame": { html: `<form action="/never" target="fr"><button id="t">T</button></form>`, apart: FRAME, before: loaded, isSent: true },
  "a button in a link that loads a frame": { html: `<a href="/never" target="fr"><button type="button" id="t">T</button></a>`, apart: FRAME, before: loaded, isSent: true },
  "a link of a picture that loads a frame": { html: `<svg width="90" height="40"><a id="t" href="/never" target="fr"><text y="20">T</text></a></svg>`, apart: FRAME, before: loaded, isSent: true },
  "an old link of a picture that loads a frame": { html: `<svg width="90" height="40"><a id="t" xlink:href="/never" target="fr"><text y="20">T</text></a></svg>`, apart: FRAME, before: loaded, isSent: true },
  "a link that loads a frame with a name by a script": { html: `<a id="t" href="/never" target="other">T</a>`, apart: FRAME, before: named, isSent: true },
  "a frame in its middle": { html: `<div id="t" role="group" tabindex="0" aria-label="T"><iframe id="s" KEPT style="width:100%" srcdoc="<button>${TEXT}</button>"></iframe></div>` },
  "a place to drop": { html: `<div id="h" draggable="true">Handle</div><div id="t" role="group" tabindex="0" aria-label="T"><div id="s" KEPT style="height:40px">${TEXT}</div></div>`, before: acceptDrops },
  "a place to release the pointer": { html: `<div id="h" tabindex="0">Handle</div><div id="t" role="group" tabindex="0" aria-label="T"><div id="s" KEPT style="height:40px">${TEXT}</div></div>` },
  "a key of access": { html: `<input id="t" aria-label="T">`, apart: `<button id="s" KEPT accesskey="k" type="button">${TEXT}</button>`, isSafe: true },
  "a label that is drawn for a box": { html: `<input type="checkbox" id="t" style="position:absolute;width:1px;height:1px;opacity:0"><label for="t" id="s" KEPT>${TEXT}</label>` },
  "a button around a part": { html: `<button id="t" type="button">Pay <span id="s" KEPT>${TEXT}</span></button>` },
  "a form around the root": { html: `<button id="t">T</button>`, around: `<form id="s"><output>x</output><!--root--></form>` },
  "a dialog around the root": { html: `<form method="dialog"><button id="t">T</button></form>`, around: `<dialog id="s" open style="position:static"><!--root--></dialog>`, isSent: true },
};

function acceptDrops({ s, t }) {
  for (const one of [s, t]) one.addEventListener("dragover", (event) => event.preventDefault());
}

const event = (name) => ({ type: "triggerEvent", event: name });
const method = (name) => ({ type: "callMethod", method: name });
const key = (name, modifiers) => ({ type: "pressKey", key: name, ...(modifiers && { modifiers }) });

const ACTIONS = {
  ...Object.fromEntries(["onClick", "onDoubleClick", "onContextMenu", "onFocus", "onSubmit", "onChange"].map((name) => [name, [event(name)]])),
  ...Object.fromEntries(["Enter", " ", "Escape", "ArrowDown", "Backspace", "Delete", "x"].map((name) => [`the key ${name === " " ? "Space" : name}`, [key(name)]])),
  "Escape where the focus is": [{ ...key("Escape"), isAnywhere: true }],
  "Enter where the focus is": [{ ...key("Enter"), isAnywhere: true }],
  "Tab, then Space": [key("Tab"), { ...key(" "), isAnywhere: true }],
  "Control+a, then a key": [key("a", ["Control"]), { ...key("x"), isAnywhere: true }],
  "Alt+k": [key("k", ["Alt"])],
  "a value": [{ type: "setValue", value: TEXT }],
  "a check": [{ type: "setValue", value: true }],
  ...Object.fromEntries(["requestSubmit", "reset", "show", "showModal", "close", "showPopover", "hidePopover", "select"].map((name) => [name, [method(name)]])),
  "a mouse over it": [{ type: "hover" }],
  "a drag to it": [{ type: "drag", to: {}, steps: 2 }],
};

const EVENTS = [
  "click", "dblclick", "contextmenu", "pointerdown", "pointerup", "mousedown", "mouseup", "keydown", "keypress", "keyup", "focus", "beforeinput", "input", "change",
  "drop", "submit", "reset", "invalid", "beforetoggle", "toggle", "cancel", "close", "command",
];

/** Builds a thing, performs an action on it, and returns the result. */
async function run(thing, actions, kept) {
  const stage = document.createElement("section");
  const isOutside = kept === "outside";
  const mark = (html) => html.replace("KEPT", kept === "private" ? "data-mcp-private" : "");
  const inside = `<main role="none">${mark(thing.html)}${isOutside ? "" : mark(thing.apart ?? "")}</main>`;
  stage.innerHTML = (thing.around ?? "<!--root-->").replace("<!--root-->", inside) + (isOutside ? mark(thing.apart ?? "") : "");
  document.body.append(stage);
  const box = stage.querySelector("x-box");
  const shadow = box?.attachShadow({ mode: "open", ...thing.options });
  if (shadow) shadow.innerHTML = mark(thing.shadow);
  const $ = (id) => shadow?.getElementById(id) ?? stage.querySelector(`#${id}`);
  const [s, t] = [$("s"), $("t")];
  stage.addEventListener("submit", (event) => thing.isSent || event.preventDefault());
  await thing.before?.({ s, t });
  const root = thing.around && !isOutside ? stage : stage.querySelector("main");
  const driver = new DomDriver({ root });
  const seen = [];
  const note = (event) => (thing.around ? event.target === s : event.composedPath().includes(s)) && seen.push(event.type);
  if (thing.isSent && s.contentWindow) s.contentWindow.navigation.onnavigate = ({ destination }) => seen.push(destination.url);
  // Events that are dispatched in tasks, such as the first `toggle`, do not belong to the action.
  for (let task = 0; task < 3; task++) await nextTask();
  const before = stateOf(s, t, thing);
  for (const type of EVENTS) window.addEventListener(type, note, true);
  const answers = [];
  try {
    for (const action of actions) answers.push(await act(driver, action, t, $("h")));
  } finally {
    for (const type of EVENTS) window.removeEventListener(type, note, true);
    const after = stateOf(s, t, thing);
    driver.dispose();
    for (const one of document.querySelectorAll(":popover-open")) one.hidePopover();
    stage.remove();
    seen.push(...(before === after ? [] : [`${before} became ${after}`]));
  }
  return { seen, answers };
}

const stateOf = (s, t, { state }) =>
  JSON.stringify([s.isConnected, s.value, s.checked, s.open, s.returnValue, s.matches(":popover-open"), s.textContent, state?.({ s, t })]);

const refOf = (driver, element) => nodesOf(treeAtOnce(driver, { limit: 1000, everyText: true }).root).find(({ ref }) => ref && driver.element(ref) === element)?.ref;

/** Performs an action as the executor does, with the decisions of the core. */
async function act(driver, { isAnywhere, ...action }, t, handle) {
  const isDrag = action.type === "drag";
  const [ref, to] = [isAnywhere ? driver.focused() : refOf(driver, isDrag && handle ? handle : t), isDrag ? refOf(driver, t) : undefined];
  if (!ref && !isAnywhere) return { code: "TargetHidden" };
  const facts = ref ? driver.inspect(ref, action) : {};
  if (facts.private || facts.outside) return { code: facts.private ? "private" : "outside", facts };
  driver.beginAction(action);
  let answer = {};
  try {
    await driver.apply(action, ref, to, NEVER);
    await driver.rest(true, NEVER);
    answer = { readBack: ref && driver.readBack(ref, action) };
  } catch (error) {
    answer = { code: error.code ?? "thrown", error: error.message };
  }
  return { ...answer, ...driver.endAction(), page: treeAtOnce(driver, { limit: 1000 }).root };
}

const REFUSED = /^(private|outside|TargetPrivate)$/;

/** Checks an action on a thing, and returns whether it reaches the part that may be private when it is not. */
async function check(thing, actions) {
  const free = await run(thing, actions, "");
  assert(!free.answers.some(({ code }) => REFUSED.test(code)), `nothing is kept, and it was refused: ${JSON.stringify(free.answers)}`);
  for (const kept of [...(thing.around ? [] : ["private"]), ...(thing.apart || thing.around ? ["outside"] : [])]) {
    const { seen, answers } = await run(thing, actions, kept);
    assert(!seen.length, `${kept} was reached: ${seen.join(", ")}, with ${JSON.stringify(answers)}`);
    const isGiven = actions.some(({ value }) => value === TEXT);
    assert(isGiven || !JSON.stringify(answers).includes(TEXT), `${kept} was read: ${JSON.stringify(answers)}`);
  }
  return free.seen.length > 0;
}

const rows = {};
/** The ways that reach each thing when nothing is private. */
const ways = new Map(Object.keys(THINGS).map((name) => [name, []]));

for (const [name, thing] of Object.entries(THINGS)) {
  for (const [way, actions] of Object.entries(ACTIONS)) {
    rows[`${way}, ${name}`] = async () => {
      if (await check(thing, actions)) ways.get(name).push(way);
    };
  }
}
rows["each thing is reached by some action where nothing is kept"] = () => {
  const unreached = Object.keys(THINGS).filter((name) => !ways.get(name).length && !THINGS[name].isSafe);
  assert(!unreached.length, unreached.join("; "));
};
rows["the tab is hidden"] = hide;
for (const [name, thing] of Object.entries(THINGS)) {
  rows[`hidden: each way that reaches it, ${name}`] = async () => {
    for (const way of ways.get(name)) await check(thing, ACTIONS[way]).catch((error) => assert(false, `${way}: ${error}`));
  };
}

export default rows;

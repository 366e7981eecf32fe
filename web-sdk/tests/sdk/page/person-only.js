/**
 * Only the person answers for the person: each way to act, of page tools and of scripts, is tried on everything that asks
 * the person or is reserved for them. A row is one way on one of these.
 */

import { settled } from "./asking.js";
import { assert, equal } from "./assert.js";
import { isReady, surface } from "./person.js";
import { Client, SURFACES, until, watch } from "./person-surfaces.js";

const find = (name, role) => ({ find: { name, ...(role && { role }) } });
const event = (name, event, more) => ({ type: "triggerEvent", event, ...find(name), ...more });
const key = (key, more) => ({ type: "pressKey", key, ...more });

/** The ways of page tools: their actions, from the names of the button and the field. */
const ACTIONS = {
  "a click, by role and name": ({ button }) => [{ ...event(button, "onClick"), ...find(button, "button") }],
  "a click, by a text": ({ button }) => [{ type: "triggerEvent", event: "click", find: { text: button } }],
  ...Object.fromEntries(
    ["onClick", "onDoubleClick", "onContextMenu", "onFocus", "onBlur", "onChange", "onSubmit", "pointerdown", "pointerup", "mousedown", "mouseup", "keydown", "keyup", "touchend", "input", "cancel", "close", "submit", "app-event"].map(
      (name) => [`the event ${name}`, ({ button }) => [event(button, name)]],
    ),
  ),
  "a click on the label": () => [event("The label of it", "onClick"), { ...event("", "onClick"), find: { text: "The label of it" } }],
  "Enter where the focus is": () => [key("Enter")],
  "Space where the focus is": () => [key(" ")],
  "Escape where the focus is": () => [key("Escape")],
  "Enter on the button": ({ button }) => [key("Enter", find(button))],
  "Space on the button": ({ button }) => [key(" ", find(button))],
  "Enter in the field": ({ field }) => [key("Enter", find(field))],
  "a click on the field, then Enter": ({ field }) => [event(field, "onClick"), key("Enter")],
  "Tab, then Enter": () => [key("Tab"), key("Enter")],
  "Tab from the page three times, then Space": () => [key("Tab", find("Name")), key("Tab"), key("Tab"), key(" ")],
  "Tab six times, then Enter": () => [key("Tab", find("Name")), ...Array.from({ length: 5 }, () => key("Tab")), key("Enter")],
  "Shift+Tab, then Enter": () => [key("Tab", { ...find("Name"), modifiers: ["Shift"] }), key("Enter")],
  "a value for the field": ({ field }) => [{ type: "setValue", value: "yes", ...find(field) }],
  "a check of the field, then Enter": ({ field }) => [{ type: "setValue", value: true, ...find(field) }, key("Enter")],
  ...Object.fromEntries(
    ["requestSubmit", "reset", "show", "showModal", "close", "showPopover", "hidePopover", "select"].map((method) => [
      `the method ${method}`,
      ({ button, field }) => [{ type: "callMethod", method, ...find(button) }, { type: "callMethod", method, ...find(field) }],
    ]),
  ),
  "a mouse over it": ({ button }) => [{ type: "hover", ...find(button) }],
  "scrolling it": ({ button }) => [{ type: "scroll", deltaY: 10, ...find(button) }],
  "a drag to it": ({ button }) => [{ type: "drag", ...find("Handle"), to: find(button) }],
  "a drag from it": ({ button }) => [{ type: "drag", ...find(button), to: find("Handle") }],
  "a drag across the page": () => [{ type: "drag", ...find("Handle"), to: find("Other"), steps: 3 }],
  "the app's state": () => [{ type: "setState", key: "allow", value: true }],
  "the app's global state": () => [{ type: "setGlobal", key: "allow", value: true }],
  "a button outside with form=": () => [event("Outside", "onClick"), key("Enter", find("Outside")), event("Around", "onClick"), { type: "callMethod", method: "requestSubmit", ...find("Around") }],
  "a button outside that opens what is inside": () => [event("Opens", "onClick"), event("Commands", "onClick")],
  ...Object.fromEntries(
    ["onClick", "onDoubleClick", "onContextMenu"].map((name) => [`${name} of what contains it`, () => [event("Panel", name)]]),
  ),
  "a key to what contains it": () => [key("Enter", find("Panel")), key("a", find("Panel"))],
  "a drag to what contains it": () => [{ type: "drag", ...find("Handle"), to: find("Panel") }],
  "a mouse over what contains it": () => [{ type: "hover", ...find("Panel") }],
  "what is around it": () => [{ type: "triggerEvent", event: "onClick", find: { text: "Other" } }, key("Enter")],
};

/** The ways of scripts: of the page, of an agent in the page, of an extension. */
const SCRIPTS = {
  "element.click()": ({ target }) => target?.click(),
  "an event of a mouse": ({ target }) => target?.dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true, cancelable: true })),
  "events of a pointer": ({ target }) => ["pointerdown", "mousedown", "pointerup", "mouseup", "click"].forEach((type) => target?.dispatchEvent(new PointerEvent(type, { bubbles: true, composed: true, cancelable: true }))),
  "a key in the field": ({ field }) => ["keydown", "keypress", "keyup"].forEach((type) => field?.dispatchEvent(new KeyboardEvent(type, { key: "Enter", bubbles: true, composed: true, cancelable: true }))),
  "a key on the button": ({ target }) => ["keydown", "keyup"].forEach((type) => target?.dispatchEvent(new KeyboardEvent(type, { key: " ", bubbles: true, composed: true, cancelable: true }))),
  "the focus and a click": ({ target }) => (target?.focus(), target?.click()),
  "requestSubmit()": ({ target }) => target?.form?.requestSubmit(),
  "a click on its label": ({ main }) => main.querySelector("label[for]")?.click(),
  "a click later": async ({ target }) => {
    await settled();
    target?.click();
  },
};

/** The progress message of a call that waits for the person. */
const WHY = "the person at the page is asked something";

let client;
/** The page of all rows. Its app clicks its own button when its state is set. */
const shared = () => (client ??= Client.start({ setState: clickOwn, setGlobal: clickOwn, limits: { actionTimeoutMs: 150 } }));
const clickOwn = () => document.querySelector("#own button")?.click();

const buttonOf = (it, name) => [...(it.inside ?? it.main).querySelectorAll("button")].find(({ textContent }) => textContent.trim() === name);

const rows = {};
for (const [surfaceName, { open, blocks, ...names }] of Object.entries(SURFACES)) {
  const add = (way, run) => (rows[`${surfaceName}: ${way}`] = () => withOpen(open, (client, it) => run(client, it, blocks)));
  for (const [way, actions] of Object.entries(ACTIONS)) add(`page tools, ${way}`, (client, it) => useTools(client, it, blocks, actions(names)));
  for (const tool of ["page_snapshot", "page_query", "get_state", "get_pages"]) add(`page tools, ${tool}`, (client, it) => look(client, it, blocks, tool, names));
  // The page may do anything with its own chat.
  if (!surfaceName.startsWith("a chat")) for (const [way, run] of Object.entries(SCRIPTS)) add(`scripts, ${way}`, (_, it) => script(it, run, names));
}

/** Runs a row while something is open. */
async function withOpen(open, run) {
  const client = await shared();
  const it = await open(client);
  try {
    await run(client, it);
    await settled();
    assert(!(await it.approved()), "it was answered");
  } finally {
    await it.close();
  }
}

/** Page tools act. */
async function useTools(client, it, blocks, actions) {
  const page = watch(window);
  const inside = watch(it.inside ?? document.createElement("i"));
  const call = client.act(...actions);
  try {
    const reason = blocks ? await client.reason(call) : "";
    const response = blocks ? undefined : await client.response(call);
    await settled();
    assert(!blocks || reason.startsWith(WHY), `the call did not wait: ${reason}`);
    equal(blocks ? page.seen : [], [], "events of scripts while the person is asked");
    assert(blocks || response._meta["mcp-web/page"].log.length, JSON.stringify(response));
    equal(inside.seen, [], "events inside of what only the person uses");
  } finally {
    client.cancel(call);
    for (const { stop } of [page, inside]) stop();
  }
}

/** Page tools look. */
async function look(client, it, blocks, tool, { button }) {
  const call = client.begin(tool, tool === "page_query" ? { name: button } : {});
  try {
    if (blocks) {
      const reason = await client.reason(call);
      assert(reason.startsWith(WHY), `the call did not wait: ${reason}`);
    } else {
      const response = JSON.stringify(await client.response(call));
      assert(!it.inside || !response.includes(`button \\"${button}`), response);
    }
  } finally {
    client.cancel(call);
  }
}

/** A script acts. */
async function script(it, run, { button }) {
  if (it.inside && surface()) await isReady(surface());
  await run({ main: it.main, target: buttonOf(it, button), field: (it.inside ?? it.main).querySelector("input, textarea") });
}

export default rows;

/** The element `<mcp-web-ask>` in a document with a bridge, and the parts that its tests inspect. */

import { Bridge } from "./bridge.js";
import * as person from "./person.js";

export const text = (text) => ({ type: "text", text });
export const started = (id, tool, input = {}) => ({ type: "tool-started", id, tool, arguments: input });
export const finished = (id, tool, error) => ({ type: "tool-finished", id, tool, isError: error !== undefined, error });

/** The newest query of the element, as the bridge sees it. */
export class ReceivedQuery {
  constructor(bridge, element, message) {
    Object.assign(this, { bridge, element, message });
  }
  say(type, fields) {
    this.bridge.say({ type: `query_${type}`, uuid: this.message.uuid, ...fields });
  }
  progress(...contents) {
    for (const content of contents) this.say("progress", { content });
  }
  async complete(fields = {}) {
    const end = once(this.element, "mcp-web-ask-complete");
    this.say("complete", { toolCalls: [], ...fields });
    return (await end).detail;
  }
  async fail(error) {
    const end = once(this.element, "mcp-web-ask-error");
    this.say("failure", error);
    return (await end).detail;
  }
}

export const once = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
export const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Waits for a value that a later frame brings. */
export async function eventually(find) {
  for (;;) {
    const found = find();
    if (found) return found;
    await frame();
  }
}

/** An element in the document, connected to a bridge. */
export async function box(properties = {}, attributes = {}) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page();
  const element = document.createElement("mcp-web-ask");
  for (const [name, value] of Object.entries({ storage: "none", ...attributes })) element.setAttribute(name, value);
  Object.assign(element, { mcpWeb, ...properties });
  document.body.append(element);
  const ask = async (prompt) => {
    write(element, prompt);
    await press(element, "Enter");
    return new ReceivedQuery(bridge, element, await bridge.next("query"));
  };
  return { bridge, mcpWeb, element, ask };
}

export const all = (element, selector) => [...element.shadowRoot.querySelectorAll(selector)];
export const one = (element, selector) => element.shadowRoot.querySelector(selector);
export const input = (element) => one(element, "textarea");
export const button = (element, name) => all(element, "button").find((button) => button.checkVisibility() && button.computedName === name);
export const shown = (element) => one(element, "[part=conversation]").innerText;
export const announced = (element) => all(element, "[role=status] p").map(({ textContent }) => textContent);

export function write(element, value) {
  input(element).value = value;
  input(element).dispatchEvent(new Event("input", { bubbles: true, composed: true }));
}

/** The person presses a key in the input. Returns the event. */
export async function press(element, key, isShifted = false) {
  input(element).focus();
  const { promise, resolve } = Promise.withResolvers();
  // After the listeners of the element.
  addEventListener("keydown", resolve, { once: true });
  await person.press(key, isShifted);
  return promise;
}

/** A script presses a key, such as one of a composition. Returns the event. */
export function dispatchKey(element, key, more = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more });
  input(element).dispatchEvent(event);
  return event;
}

/** The person clicks a button of the element. */
export const use = (element, name) => person.click(button(element, name));

/** The part of the answer that shows text. */
export const answer = (element) => all(element, "[part=text]").at(-1);

/** Renders a text as the answer of an element. */
export async function rendered(markdown) {
  const it = await box();
  const asked = await it.ask("?");
  asked.progress(text(markdown));
  await asked.complete();
  await eventually(() => answer(it.element) && !answer(it.element).classList.contains("plain"));
  return answer(it.element);
}

/** Runs each test in an empty document. */
export const inEmptyDocuments = (tests) =>
  Object.fromEntries(
    Object.entries(tests).map(([name, test]) => [
      name,
      async () => {
        await test();
        document.body.replaceChildren();
      },
    ]),
  );

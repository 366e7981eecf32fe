/** The element `<mcp-web-ask>` across documents, and the ways to create it. */

import { assert, equal } from "./assert.js";
import { all, announced, box, button, eventually, finished, frame, inEmptyDocuments, once, press, ReceivedQuery, shown, started, text, use, write } from "./ask-fixture.js";
import { Bridge, forgetPages } from "./bridge.js";
import { McpWebAskElement } from "./mcp-web-ask.js";

export default inEmptyDocuments({
  async "a conversation stays with the tab, and its question is resumed by the next document"() {
    sessionStorage.clear();
    const { bridge, mcpWeb, element, ask } = await box({}, { id: "kept", storage: "session" });
    const first = await ask("One");
    await first.complete({ result: "1" });
    const second = await ask("Two");
    second.say("accepted");
    second.progress(text("half"));
    await eventually(() => shown(element).includes("half"));
    element.remove();
    await frame();
    equal(bridge.has("query_cancel"), false, "the next element takes it up");
    const next = document.createElement("mcp-web-ask");
    next.id = "kept";
    next.mcpWeb = mcpWeb;
    document.body.append(next);
    await eventually(() => shown(next).includes("half"));
    equal(all(next, "[part=turn]").map(({ computedName }) => computedName), ["One", "Two"]);
    await new ReceivedQuery(bridge, next, second.message).complete({ result: "half and half" });
    assert(shown(next).includes("half and half"), shown(next));
    write(next, "Three");
    await press(next, "Enter");
    const third = new ReceivedQuery(bridge, next, await bridge.next("query"));
    equal(third.message.conversation, first.message.conversation);
    await third.complete({ result: "3" });
    next.clear();
    equal(sessionStorage.getItem("mcp-web:ask:kept"), null);
  },

  async "a question that is no longer known can be asked again"() {
    const turn = { label: "Old", prompt: "Old", uuid: "gone", state: "running", blocks: [{ kind: "text", text: "so far" }] };
    sessionStorage.setItem("mcp-web:ask:old", JSON.stringify({ turns: [turn] }));
    const { bridge, element } = await box({}, { id: "old", storage: "session" });
    await eventually(() => shown(element).includes("The page was left before the answer came."));
    assert(shown(element).includes("so far"));
    await use(element, "Try again");
    equal((await bridge.next("query")).prompt, "Old");
    element.clear();
  },

  async "an element without storage stops its question when it is removed"() {
    const { bridge, element, ask } = await box();
    await ask("?");
    element.remove();
    document.body.append(element);
    await frame();
    equal(bridge.has("query_cancel"), false, "it was only moved");
    element.remove();
    await bridge.next("query_cancel");
  },

  async "without its own McpWeb, the element uses that of the document, or creates one"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const element = document.body.appendChild(document.createElement("mcp-web-ask"));
    equal(element.mcpWeb === mcpWeb, true);
    forgetPages();
    equal(element.mcpWeb, undefined);
    const failed = once(element, "mcp-web-ask-error");
    element.ask("?");
    assert((await failed).detail.error.message.includes("set its property mcpWeb, or its attribute name"));
    const other = document.createElement("mcp-web-ask");
    other.setAttribute("name", "Shop");
    other.setAttribute("description", "A shop");
    other.setAttribute("bridge-url", "http://127.0.0.1:7");
    document.body.append(other);
    equal((await bridge.accept()).app, { name: "Shop", description: "A shop" });
    equal(bridge.url.startsWith("ws://127.0.0.1:7"), true);
    other.ask("Hello");
    equal((await bridge.next("query")).prompt, "Hello");
  },

  async "a McpWeb that could not be created from the attributes is tried again for the next question"() {
    const bridge = new Bridge();
    const element = document.createElement("mcp-web-ask");
    for (const [name, value] of Object.entries({ name: "Shop", "bridge-url": "not a url", storage: "none" })) element.setAttribute(name, value);
    const failed = once(element, "mcp-web-ask-error");
    document.body.append(element);
    element.ask("?");
    assert((await failed).detail.error.message.includes("not a url"));
    element.setAttribute("bridge-url", "http://127.0.0.1:7");
    element.ask("Hello");
    await bridge.accept();
    equal((await bridge.next("query")).prompt, "Hello");
  },

  async "a question that is asked before the element is in the document is not replaced by the stored ones"() {
    const turn = { label: "Old", prompt: "Old", state: "complete", blocks: [] };
    sessionStorage.setItem("mcp-web:ask:early", JSON.stringify({ id: "old", turns: [turn, turn] }));
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const element = Object.assign(document.createElement("mcp-web-ask"), { id: "early", mcpWeb });
    element.ask("New");
    document.body.append(element);
    const asked = new ReceivedQuery(bridge, element, await bridge.next("query"));
    assert(asked.message.conversation !== "old");
    await asked.complete({ result: "." });
    equal(all(element, "[part=turn]").map(({ computedName }) => computedName), ["New"]);
    element.clear();
  },

  async "properties that were set before the element was defined are applied"() {
    const frame = document.createElement("iframe");
    frame.src = "/ask-early.html";
    document.body.append(frame);
    const { data } = await once(globalThis, "message");
    frame.remove();
    equal(data, ["Early", "Later"]);
  },

  async "an answer can be copied"() {
    const { element, ask } = await box();
    let copied;
    Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text) => void (copied = text) } });
    const asked = await ask("?");
    asked.progress(text("One **two**."), started("1", "t"), finished("1", "t"), text("Three."));
    await asked.complete();
    await use(element, "Copy");
    await eventually(() => button(element, "Copied"));
    equal(copied, "One **two**.\n\nThree.");
    assert(announced(element).includes("Copied"));
    navigator.clipboard.writeText = () => Promise.reject(new DOMException("Write permission denied.", "NotAllowedError"));
    await use(element, "Copied");
    await eventually(() => button(element, "Not copied"));
    assert(announced(element).includes("Not copied"));
  },

  async "an element can be created with new, and is defined once"() {
    equal(customElements.get("mcp-web-ask"), McpWebAskElement);
    equal(new McpWebAskElement().localName, "mcp-web-ask");
    await import("./mcp-web-ask.js?copy");
  },
});

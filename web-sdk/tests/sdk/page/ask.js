/** The element `<mcp-web-ask>`, with a bridge inside the page. */

import { assert, equal } from "./assert.js";
import { Bridge, forgetPages } from "./bridge.js";
import { McpWebAskElement } from "./mcp-web-ask.js";

const text = (text) => ({ type: "text", text });
const started = (id, tool, input = {}) => ({ type: "tool-started", id, tool, arguments: input });
const finished = (id, tool, error) => ({ type: "tool-finished", id, tool, isError: error !== undefined, error });

/** The newest query of the element, as the bridge sees it. */
class ReceivedQuery {
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

const once = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Waits for something that comes with a later frame. */
async function eventually(find) {
  for (;;) {
    const found = find();
    if (found) return found;
    await frame();
  }
}

/** An element in the document, connected to a bridge. */
async function box(properties = {}, attributes = {}) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page();
  const element = document.createElement("mcp-web-ask");
  for (const [name, value] of Object.entries({ storage: "none", ...attributes })) element.setAttribute(name, value);
  Object.assign(element, { mcpWeb, ...properties });
  document.body.append(element);
  const ask = async (prompt) => {
    write(element, prompt);
    press(element, "Enter");
    return new ReceivedQuery(bridge, element, await bridge.next("query"));
  };
  return { bridge, mcpWeb, element, ask };
}

const all = (element, selector) => [...element.shadowRoot.querySelectorAll(selector)];
const one = (element, selector) => element.shadowRoot.querySelector(selector);
const input = (element) => one(element, "textarea");
const button = (element, name) => all(element, "button").find((button) => button.checkVisibility() && button.computedName === name);
const shown = (element) => one(element, "[part=conversation]").innerText;
const announced = (element) => all(element, "[role=status] p").map(({ textContent }) => textContent);

function write(element, value) {
  input(element).value = value;
  input(element).dispatchEvent(new Event("input", { bubbles: true, composed: true }));
}

function press(element, key, more = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more });
  input(element).dispatchEvent(event);
  return event;
}

/** The part of the answer that shows text. */
const answer = (element) => all(element, "[part=text]").at(-1);

/** Renders a text as the answer of an element. */
async function rendered(markdown) {
  const it = await box();
  const asked = await it.ask("?");
  asked.progress(text(markdown));
  await asked.complete();
  await eventually(() => answer(it.element) && !answer(it.element).classList.contains("plain"));
  return answer(it.element);
}

const TESTS = {
  async "a question is asked, its answer streams as markdown, and tools are shown as they run"() {
    const { element, ask } = await box();
    const start = once(element, "mcp-web-ask-start");
    const asked = await ask("What is missing?");
    equal(asked.message.prompt, "What is missing?");
    equal((await start).detail.prompt, "What is missing?");
    equal(input(element).value, "");
    equal(element.running, true);
    assert(shown(element).includes("Waiting for the agent"), shown(element));
    asked.say("accepted");
    asked.progress(text("**Milk** is "), text("missing."), started("1", "add_item", { text: "Milk" }));
    const call = await eventually(() => one(element, ".call[data-state=running]"));
    assert(call.innerText.includes("add_item") && shown(element).includes("Working"), shown(element));
    asked.progress(finished("1", "add_item"), started("2", "list"), finished("2", "list", "the list is locked"), text("Now you have it."));
    const { result } = await asked.complete({ result: "Now you have it." });
    equal(result.text, "Now you have it.");
    equal(all(element, ".call").map(({ dataset }) => dataset.state), ["done", "failed"]);
    assert(shown(element).includes("the list is locked"), shown(element));
    // The answer is plain text until the module for markdown is loaded.
    await eventually(() => one(element, "[part=text] strong"));
    equal(all(element, "[part=text]").map((it) => it.innerText.trim()), ["Milk is missing.", "Now you have it."]);
    equal(one(element, "[part=text] strong").textContent, "Milk");
    equal(element.running, false);
    one(element, ".call summary").click();
    assert(one(element, ".call pre").innerText.includes('"text": "Milk"'));
  },

  async "questions after the first belong to its conversation, and a new one begins another"() {
    const { element, ask } = await box();
    const first = await ask("One");
    await first.complete({ result: "1" });
    const second = await ask("Two");
    await second.complete({ result: "2" });
    assert(first.message.conversation, JSON.stringify(first.message));
    equal(second.message.conversation, first.message.conversation);
    equal(all(element, "[part=turn]").map(({ computedName }) => computedName), ["One", "Two"]);
    button(element, "New conversation").click();
    equal(all(element, "[part=turn]").length, 0);
    equal(element.shadowRoot.activeElement, input(element));
    const third = await ask("Three");
    assert(third.message.conversation !== first.message.conversation);
    const cancelled = once(element, "mcp-web-ask-cancel");
    button(element, "New conversation").click();
    await cancelled;
    equal([all(element, "[part=turn]").length, element.running], [0, false], "an answer that is stopped does not come back");
  },

  async "at most 50 questions and answers are shown, the newest"() {
    const turn = (label) => ({ label, prompt: label, state: "complete", blocks: [] });
    const turns = Array.from({ length: 50 }, (_, index) => turn(`Q${index}`));
    sessionStorage.setItem("mcp-web:ask:many", JSON.stringify({ turns }));
    const { element, ask } = await box({}, { id: "many", storage: "session" });
    equal(announced(element), [], "what was answered before is not announced again");
    await (await ask("Q50")).complete({ result: "." });
    const names = all(element, "[part=turn]").map(({ computedName }) => computedName);
    equal([names.length, names[0], names.at(-1)], [50, "Q1", "Q50"]);
    element.clear();
  },

  async "Escape and the button stop the answer, and what was stopped can be asked again"() {
    const { bridge, element, ask } = await box();
    await ask("Work");
    const cancelled = once(element, "mcp-web-ask-cancel");
    press(element, "Escape");
    equal((await cancelled).detail.prompt, "Work");
    equal((await bridge.next("query_cancel")).reason, "the person at the page has stopped the answer");
    assert(shown(element).includes("Stopped"));
    button(element, "Try again").click();
    equal((await bridge.next("query")).prompt, "Work");
    equal(all(element, "[part=turn]").length, 1);
    const again = once(element, "mcp-web-ask-cancel");
    button(element, "Stop").focus();
    button(element, "Stop").click();
    await again;
    equal(element.shadowRoot.activeElement, input(element), "the focus does not get lost with the button");
    equal(press(element, "Escape").defaultPrevented, false, "without a question, the page has the key");
  },

  async "a failure says what it means and what to do, and can be tried again"() {
    const { bridge, element, ask } = await box();
    const asked = await ask("Work");
    asked.progress(text("All is"));
    const { error } = await asked.fail({ code: "ModelStreamBroken", error: "the stream broke", reason: "ask again" });
    equal(error.code, "ModelStreamBroken");
    equal(one(element, "[part=failure]").innerText, "The answer broke off. Ask again.");
    assert(shown(element).includes("(ModelStreamBroken)"), shown(element));
    assert(shown(element).includes("All is"), "what has come stays");
    button(element, "Try again").click();
    const second = new ReceivedQuery(bridge, element, await bridge.next("query"));
    equal(second.message.prompt, "Work");
    await second.complete({ result: "Done." });
    assert(!one(element, "[part=failure]") && !button(element, "Try again"));
  },

  async "a question is asked again as it was, with its own options"() {
    const suggestion = { label: "Plan", prompt: () => "Plan my day", options: { restrictTools: true, tools: [] } };
    const { bridge, element } = await box({ suggestions: [suggestion] });
    const next = async () => new ReceivedQuery(bridge, element, await bridge.next("query"));
    const failure = { code: "ModelStreamBroken", error: "the stream broke" };
    element.ask("Plan", { context: [{ name: "selection", value: "c1" }] });
    for (const _ of [1, 2]) {
      const asked = await next();
      const { prompt, restrictTools, context } = asked.message;
      equal([prompt, restrictTools, context.map(({ value }) => value)], ["Plan", undefined, ["c1"]]);
      await asked.fail(failure);
      button(element, "Try again").click();
    }
    element.clear();
  },

  async "options and context are asked for each question, and suggestions have their own"() {
    let selected = "c1";
    let prompts = 0;
    const { bridge, element, ask } = await box({
      context: () => [{ name: "selection", value: selected }],
      options: async (prompt) => ({ timeout: prompt.length * 1000 }),
      suggestions: ["Summarise", { label: "Plan", prompt: () => (prompts++, "Plan my day"), options: { restrictTools: true, tools: [] } }],
    });
    const first = await ask("1234");
    equal([first.message.context[0].content ?? first.message.context[0].value, first.message.timeout <= 4000], ["c1", true]);
    await first.complete({ result: "." });
    selected = "c2";
    button(element, "Plan").click();
    const second = new ReceivedQuery(bridge, element, await bridge.next("query"));
    equal([second.message.prompt, second.message.restrictTools], ["Plan my day", true]);
    assert(JSON.stringify(second.message.context).includes("c2"), "what a suggestion does not replace stays");
    equal(button(element, "Summarise").getAttribute("aria-disabled"), "true");
    for (const name of ["Summarise", "Plan"]) button(element, name).click();
    equal(prompts, 1, "the calls of the function for the prompt");
    await second.complete({ result: "." });
    assert(!bridge.has("query"), "one question at a time");
    equal(all(element, "[part=turn]").at(-1).computedName, "Plan");
    equal(one(element, "[part=prompt] pre").textContent, "Plan my day");
  },

  async "a callback that fails is shown"() {
    const { element } = await box({ context: () => Promise.reject(new Error("the board is locked")) });
    const failed = once(element, "mcp-web-ask-error");
    equal(element.ask("?"), true);
    const { error, query } = (await failed).detail;
    equal([error.message, query], ["the board is locked", undefined]);
    assert(shown(element).includes("the board is locked"));
  },

  async "Shift+Enter and a composition begin no question, and an empty input none"() {
    const { bridge, element } = await box();
    write(element, "Hello");
    equal(press(element, "Enter", { shiftKey: true }).defaultPrevented, false);
    press(element, "Enter", { isComposing: true });
    press(element, "Enter", { keyCode: 229 });
    write(element, "  ");
    press(element, "Enter");
    button(element, "Ask AI").click();
    equal([bridge.has("query"), all(element, "[part=turn]").length], [false, 0]);
  },

  async "a key of a composition does not stop the answer"() {
    const { bridge, element, ask } = await box();
    const asked = await ask("?");
    for (const more of [{ isComposing: true }, { keyCode: 229 }]) equal(press(element, "Escape", more).defaultPrevented, false);
    await asked.complete({ result: "." });
    equal(bridge.has("query_cancel"), false);
  },

  async "a call waits until the person allows it"() {
    const { bridge, element, ask } = await box();
    const asked = await ask("Clear");
    const request = { type: "approval-requested", id: "7", tool: "clear_cards", arguments: { column: "done" }, expiresInMs: 60000 };
    asked.progress(request, { ...request, id: "8" });
    await eventually(() => all(element, ".call[data-state=waiting]").length === 2);
    assert(shown(element).includes("May the AI use clear_cards?") && shown(element).includes('"column": "done"'), shown(element));
    assert(announced(element).includes("May the AI use clear_cards?"));
    button(element, "Allow").click();
    const { id, approved } = await bridge.next("query_answer");
    equal([id, approved], ["7", true]);
    equal(element.shadowRoot.activeElement, input(element));
    await eventually(() => button(element, "Do not allow"));
    button(element, "Do not allow").click();
    equal((await bridge.next("query_answer")).approved, false);
    asked.progress(finished("7", "clear_cards"), { ...finished("8", "clear_cards", "it was denied"), outcome: "denied" });
    await asked.complete({ result: "Cleared." });
    equal(all(element, ".call").map(({ dataset }) => dataset.state), ["done", "cancelled"]);
  },

  async "a call of the agent's own tool is shown with its source, and with what it returned"() {
    const { element, ask } = await box();
    const asked = await ask("What do I buy?");
    const call = { id: "1", tool: "notes-read_file", source: "notes" };
    asked.progress({ type: "tool-started", ...call, arguments: { path: "a" } }, { type: "tool-finished", ...call, isError: false, result: "<b>milk</b>" });
    asked.progress(started("2", "list"), finished("2", "list"));
    await asked.complete({ result: "Milk." });
    equal(all(element, ".call code").map(({ textContent }) => textContent), ["read_file (notes)", "list"]);
    for (const summary of all(element, ".call summary")) summary.click();
    const texts = all(element, ".call details").map((it) => [...it.querySelectorAll("p, pre")].map(({ textContent }) => textContent));
    equal(texts, [['{\n  "path": "a"\n}', "Result", "<b>milk</b>"], ["{}"]]);
  },

  async "the question about a call of the agent's own tool says that it is not one of the page"() {
    const { bridge, element, ask } = await box({ options: { approvalDialog: true } });
    const asked = await ask("Write it down");
    const request = { type: "approval-requested", id: "1", tool: "notes-write_file", source: "notes", arguments: {}, expiresInMs: 60_000 };
    asked.progress(request);
    const call = await eventually(() => one(element, ".call[data-state=waiting]"));
    const question = ["May the AI use write_file (notes)?", "It is not a tool of this page, but of “notes”."];
    equal([...call.querySelectorAll("p")].map(({ textContent }) => textContent), question);
    equal(announced(element).filter((it) => question.includes(it)), question);
    button(element, "Allow").click();
    equal((await bridge.next("query_answer")).approved, true);
    await asked.complete({ result: "Done." });
    assert(!document.querySelector("[data-mcp-web]"), "the element asks itself, and no dialog does");
  },

  async "the element never gets the dialog, also for a question of the document before"() {
    const turn = { label: "Old", prompt: "Old", uuid: "u-1", state: "running", blocks: [] };
    sessionStorage.setItem("mcp-web:ask:reloaded", JSON.stringify({ turns: [turn] }));
    sessionStorage.setItem("mcp-web:session:http://bridge.example:Reloaded", "former-session u-1");
    const bridge = new Bridge();
    const mcpWeb = await bridge.page({ name: "Reloaded", storage: "session", bridgeUrl: "http://bridge.example" });
    const element = Object.assign(document.createElement("mcp-web-ask"), { id: "reloaded", mcpWeb });
    document.body.append(element);
    const asked = new ReceivedQuery(bridge, element, await bridge.next("query_attach"));
    // What a bridge sends comes with a later task.
    await frame();
    asked.say("accepted");
    asked.progress({ type: "approval-requested", id: "1", tool: "clear_cards", arguments: {}, expiresInMs: 60_000 });
    await eventually(() => one(element, ".call[data-state=waiting]"));
    // Dialogs are shown in the order of their requests.
    const other = mcpWeb.query({ prompt: "?", approvalDialog: true });
    await bridge.next("query");
    const request = { type: "approval-requested", id: "1", tool: "other", arguments: {}, expiresInMs: 60_000 };
    new ReceivedQuery(bridge, element, other).progress(request);
    const dialog = await eventually(() => document.querySelector("[data-mcp-web]")?.shadowRoot.querySelector("dialog[open]"));
    equal(dialog.querySelector("h2").textContent, "May the AI use other?");
    dialog.requestClose();
    await bridge.next("query_answer");
    await asked.complete({ result: "." });
    element.clear();
  },

  async "the profile of the agent's tools is an attribute or a property, which options replace"() {
    const { element, ask } = await box({}, { profile: "staff" });
    const profileOf = async () => {
      const asked = await ask("?");
      await asked.complete({ result: "." });
      return asked.message.profile;
    };
    equal([element.profile, await profileOf()], ["staff", "staff"]);
    element.options = { profile: "admin" };
    equal(await profileOf(), "admin");
    element.options = undefined;
    element.profile = "guest";
    equal([element.getAttribute("profile"), await profileOf()], ["guest", "guest"]);
    element.profile = undefined;
    equal([element.hasAttribute("profile"), element.profile, await profileOf()], [false, undefined, undefined]);
  },

  async "an answer that is a call or a value is shown as the page says"() {
    const { bridge, mcpWeb, element, ask } = await box({ answer: ({ response }) => response && `Chosen: **${response.arguments.card}**` });
    mcpWeb.addTool({ name: "choose", handler: () => ({}) });
    await bridge.register();
    element.options = { responseTool: "choose" };
    const call = await ask("Choose");
    call.progress(started("1", "choose"));
    await call.complete({ toolCalls: [{ tool: "choose", arguments: { card: "c1" }, result: {} }] });
    await eventually(() => shown(element).includes("Chosen: c1"));
    equal(one(element, ".call").dataset.state, "done");
    element.options = undefined;
    const value = await ask("Value");
    await value.complete({ result: { late: 2 } });
    assert(shown(element).includes('"late": 2'), shown(element));
  },

  async "what a model thinks is closed at first, and notes are shown"() {
    const { element, ask } = await box();
    const asked = await ask("?");
    asked.progress({ type: "thinking", text: "Hm." }, { type: "note", text: "The model is busy." }, { type: "usage", usage: { models: {}, milliseconds: 1 } });
    await asked.complete({ result: "So." });
    equal(one(element, "[part=thinking]").open, false);
    equal(one(element, "[part=thinking] summary").textContent, "Thinking");
    equal(one(element, "[part=note]").textContent, "The model is busy.");
  },

  async "screen readers get whole sentences once, each control has a name, and the log is quiet"() {
    const { element, ask } = await box({}, { label: "Ask the board" });
    const asked = await ask("What is late?");
    asked.say("accepted");
    const log = one(element, "[role=log]");
    equal([log.computedName, log.getAttribute("aria-live"), log.getAttribute("aria-busy")], ["Conversation", "off", "true"]);
    equal(one(element, "[role=status]").getAttribute("aria-atomic"), "false");
    asked.progress(text("Two **cards** are late by a week. The fir"));
    await eventually(() => announced(element).some((it) => it.includes("late")));
    equal(announced(element).filter((it) => it.includes("cards")), ["Two cards are late by a week."]);
    asked.progress(text("st is `c1`."), started("1", "list_cards"), finished("1", "list_cards", "it is gone"));
    await asked.complete();
    equal(announced(element), [
      "Waiting for the agent",
      "Two cards are late by a week.",
      "list_cards: failed. it is gone",
      "The first is c1.",
    ]);
    equal(log.getAttribute("aria-busy"), "false");
    equal([input(element).computedName, input(element).computedRole], ["Ask the board", "textbox"]);
    equal(one(element, "section").computedName, "Ask the board");
    for (const control of all(element, "button, textarea, summary, [tabindex]").filter((it) => it.checkVisibility())) {
      assert(control.computedName || control.localName === "pre", control.outerHTML);
    }
  },

  async "attributes and properties name what is shown, in the words of the page"() {
    const { element } = await box({ strings: { send: "Fragen", placeholder: "Frag etwas", stop: undefined } });
    equal([button(element, "Fragen") !== undefined, input(element).placeholder], [true, "Frag etwas"]);
    write(element, "draft");
    element.setAttribute("placeholder", "Ask the board");
    element.setAttribute("suggestions", '["One", "Two"]');
    await frame();
    equal([input(element).placeholder, input(element).value], ["Ask the board", "draft"]);
    equal(all(element, ".suggestion").map((it) => it.textContent), ["One", "Two"]);
    element.label = "Ask";
    element.placeholder = "More";
    await frame();
    equal([element.label, element.placeholder, input(element).computedName, input(element).placeholder], ["Ask", "More", "Ask", "More"]);
  },

  async "custom properties of the page change the looks"() {
    const { element, ask } = await box();
    const looks = {
      "--mcp-web-background": "rgb(1, 2, 3)",
      "--mcp-web-text": "rgb(200, 201, 202)",
      "--mcp-web-accent": "rgb(250, 1, 1)",
      "--mcp-web-accent-text": "rgb(9, 9, 9)",
      "--mcp-web-border": "rgb(7, 8, 9)",
      "--mcp-web-muted": "rgb(4, 5, 6)",
      "--mcp-web-error": "rgb(10, 11, 12)",
      "--mcp-web-radius": "3px",
      "--mcp-web-font": "20px monospace",
      "--mcp-web-ask-max-height": "123px",
    };
    for (const [name, value] of Object.entries(looks)) element.style.setProperty(name, value);
    const style = (selector) => getComputedStyle(one(element, selector));
    const { backgroundColor, borderColor, borderRadius, color, fontSize, fontFamily } = style("[part=frame]");
    equal([backgroundColor, borderColor, borderRadius, color], ["rgb(1, 2, 3)", "rgb(7, 8, 9)", "3px", "rgb(200, 201, 202)"]);
    equal([fontSize, fontFamily], ["20px", "monospace"]);
    equal([style(".send").backgroundColor, style(".send").color], ["rgb(250, 1, 1)", "rgb(9, 9, 9)"]);
    const asked = await ask("?");
    equal([style("[part=state]").color, style("[part=conversation]").maxHeight], ["rgb(4, 5, 6)", "123px"]);
    await asked.fail({ code: "AgentFailed", error: "it failed" });
    equal(style("[part=failure]").color, "rgb(10, 11, 12)");
    element.style.colorScheme = "dark";
    for (const name of Object.keys(looks)) element.style.removeProperty(name);
    equal(style("[part=frame]").backgroundColor, "rgb(35, 38, 43)");
    equal(getComputedStyle(element).display, "block");
  },

  async "markdown is rendered, and what a model must not do is text or nothing"() {
    globalThis.attacked = false;
    const attacks = [
      "<script>attacked = true</script>",
      '<img src="x" onerror="attacked = true">',
      "[run](javascript:attacked=true) [data](data:text/html,<script>attacked=true</script>)",
      "[vb](vbscript:x) ![x](javascript:attacked=true)",
      '<a href="javascript:attacked=true">html</a> <iframe srcdoc="<script>parent.attacked=true</script>"></iframe>',
      '<svg onload="attacked = true"><style>*{display:none}</style></svg>',
      '<form action="//evil.example"><input name="password"></form>',
      '[style](x"onmouseover="attacked=true)',
    ];
    const element = await rendered(`# Title\n\n- [x] done\n- [ ] open\n\n| a | b |\n|---|:-:|\n| 1<br>2 | \`c\` |\n\n\`\`\`js\n<b>1</b>\n\`\`\`\n\n${attacks.join("\n\n")}`);
    equal(element.querySelector("h1").textContent, "Title");
    assert(element.innerText.includes("☑ done") && element.innerText.includes("☐ open"), element.innerText);
    equal(element.querySelector("td br") !== null, true);
    equal(element.querySelector("pre").innerText.trim(), "<b>1</b>");
    assert(element.innerText.includes('<iframe srcdoc='), "HTML is shown as text");
    equal([...element.querySelectorAll("script, iframe, svg, style, form, input, object, img")].map((it) => it.localName), []);
    for (const { attributes, href } of element.querySelectorAll("*")) {
      for (const { name } of attributes) assert(!name.startsWith("on") && name !== "style" && name !== "class", name);
      assert(!href || /^https?:/.test(href), href);
    }
    await frame();
    equal(globalThis.attacked, false);
  },

  async "links to other sites open a tab that knows nothing of the page, and only pictures whose data is in the answer are shown"() {
    const element = await rendered(
      "[other](https://other.example/a) [own](/own) [mail](mailto:a@b.example) ![pie chart](https://evil.example/?secret=1) ![](//evil.example/2) ![own picture](/redirect?to=evil.example) ![dot](data:image/gif;base64,R0lGODlhAQABAAAAACw=) [![in a link](https://evil.example/3)](https://other.example/b)",
    );
    const [other, own, mail, picture, , ownPicture] = element.querySelectorAll("a");
    equal([other.target, other.rel, own.target, own.rel], ["_blank", "noopener noreferrer nofollow", "", "noopener noreferrer nofollow"]);
    equal(mail.getAttribute("href"), "mailto:a@b.example");
    equal([picture.textContent, picture.getAttribute("href")], ["Picture: pie chart", "https://evil.example/?secret=1"]);
    equal([ownPicture.textContent, ownPicture.getAttribute("href")], ["Picture: own picture", "/redirect?to=evil.example"]);
    equal([...element.querySelectorAll("img")].map(({ src }) => src.slice(0, 14)), ["data:image/gif"]);
    const requests = performance.getEntriesByType("resource").filter(({ name }) => name.includes("evil.example"));
    equal(requests, []);
  },

  async "only the blocks of an answer that change are rendered again"() {
    const { element, ask } = await box();
    const asked = await ask("?");
    asked.progress(text("First.\n\nSec"));
    const paragraph = await eventually(() => element.shadowRoot.querySelector("[part=text] p"));
    asked.progress(text("ond, see [x].\n\n"));
    await eventually(() => answer(element).innerText.includes("see [x]"));
    equal(answer(element).querySelector("p"), paragraph);
    asked.progress(text("[x]: https://other.example/\n"));
    await asked.complete();
    equal(answer(element).querySelector("a").href, "https://other.example/");
  },

  async "without markdown, an answer is plain text"() {
    const { element, ask } = await box({}, { markdown: "off" });
    const asked = await ask("?");
    await asked.complete({ result: "**not** bold" });
    equal([answer(element).textContent, answer(element).childElementCount], ["**not** bold", 0]);
  },

  async "a conversation stays with the tab, and its question is taken up by the next document"() {
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
    press(next, "Enter");
    const third = new ReceivedQuery(bridge, next, await bridge.next("query"));
    equal(third.message.conversation, first.message.conversation);
    await third.complete({ result: "3" });
    next.clear();
    equal(sessionStorage.getItem("mcp-web:ask:kept"), null);
  },

  async "a question of a document that nobody knows any more can be asked again"() {
    const turn = { label: "Old", prompt: "Old", uuid: "gone", state: "running", blocks: [{ kind: "text", text: "so far" }] };
    sessionStorage.setItem("mcp-web:ask:old", JSON.stringify({ turns: [turn] }));
    const { bridge, element } = await box({}, { id: "old", storage: "session" });
    await eventually(() => shown(element).includes("The page was left before the answer came."));
    assert(shown(element).includes("so far"));
    button(element, "Try again").click();
    equal((await bridge.next("query")).prompt, "Old");
    element.clear();
  },

  async "an element that keeps nothing stops its question when it is removed"() {
    const { bridge, element, ask } = await box();
    await ask("?");
    element.remove();
    document.body.append(element);
    await frame();
    equal(bridge.has("query_cancel"), false, "it was only moved");
    element.remove();
    await bridge.next("query_cancel");
  },

  async "without a McpWeb of its own, the element takes that of the document, or makes one"() {
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

  async "a McpWeb that the attributes cannot make is made again for the next question"() {
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

  async "properties that were set before the element was defined count"() {
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
    button(element, "Copy").click();
    await eventually(() => button(element, "Copied"));
    equal(copied, "One **two**.\n\nThree.");
    assert(announced(element).includes("Copied"));
    navigator.clipboard.writeText = () => Promise.reject(new DOMException("Write permission denied.", "NotAllowedError"));
    button(element, "Copied").click();
    await eventually(() => button(element, "Not copied"));
    assert(announced(element).includes("Not copied"));
  },

  async "an element can be made with new, and is defined once"() {
    equal(customElements.get("mcp-web-ask"), McpWebAskElement);
    equal(new McpWebAskElement().localName, "mcp-web-ask");
    await import("./mcp-web-ask.js?copy");
  },
};

/** Each test has an empty document. */
export default Object.fromEntries(
  Object.entries(TESTS).map(([name, test]) => [
    name,
    async () => {
      await test();
      document.body.replaceChildren();
    },
  ]),
);

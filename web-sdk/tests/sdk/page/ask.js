/** The element `<mcp-web-ask>` sends questions: their answers, and the calls that a person allows. */

import { assert, equal } from "./assert.js";
import { ReceivedQuery, all, announced, box, button, dispatchKey, eventually, finished, frame, inEmptyDocuments, input, once, one, press, shown, started, text, use, write } from "./ask-fixture.js";
import { Bridge } from "./bridge.js";
import "./mcp-web-ask.js";
import * as person from "./person.js";

/** Answers the dialog that asks about a call, and returns what it asked. */
async function answerDialog(name) {
  const dialog = await eventually(() => person.surface("approval"));
  await person.use([...dialog.querySelectorAll("button")].find(({ textContent }) => textContent === name));
  return dialog.querySelector("h2").textContent;
}

export default inEmptyDocuments({
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
    await use(element, "New conversation");
    equal(all(element, "[part=turn]").length, 0);
    equal(element.shadowRoot.activeElement, input(element));
    const third = await ask("Three");
    assert(third.message.conversation !== first.message.conversation);
    const cancelled = once(element, "mcp-web-ask-cancel");
    await use(element, "New conversation");
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

  async "Escape and the button stop the answer, and a stopped question can be asked again"() {
    const { bridge, element, ask } = await box();
    await ask("Work");
    const cancelled = once(element, "mcp-web-ask-cancel");
    await press(element, "Escape");
    equal((await cancelled).detail.prompt, "Work");
    equal((await bridge.next("query_cancel")).reason, "the person at the page has stopped the answer");
    assert(shown(element).includes("Stopped"));
    await use(element, "Try again");
    equal((await bridge.next("query")).prompt, "Work");
    equal(all(element, "[part=turn]").length, 1);
    const again = once(element, "mcp-web-ask-cancel");
    button(element, "Stop").focus();
    await use(element, "Stop");
    await again;
    equal(element.shadowRoot.activeElement, input(element), "the focus does not get lost with the button");
    equal((await press(element, "Escape")).defaultPrevented, false, "without a question, the page has the key");
  },

  async "a failure has an explanation and advice, and can be retried"() {
    const { bridge, element, ask } = await box();
    const asked = await ask("Work");
    asked.progress(text("All is"));
    const { error } = await asked.fail({ code: "ModelStreamBroken", error: "the stream broke", reason: "ask again" });
    equal(error.code, "ModelStreamBroken");
    equal(one(element, "[part=failure]").innerText, "The answer broke off. Ask again.");
    assert(shown(element).includes("(ModelStreamBroken)"), shown(element));
    assert(shown(element).includes("All is"), "what has come stays");
    await use(element, "Try again");
    const second = new ReceivedQuery(bridge, element, await bridge.next("query"));
    equal(second.message.prompt, "Work");
    await second.complete({ result: "Done." });
    assert(!one(element, "[part=failure]") && !button(element, "Try again"));
  },

  async "a question is repeated unchanged, with its own options"() {
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
      await use(element, "Try again");
    }
    element.clear();
  },

  async "options and context are requested for each question, and suggestions have their own"() {
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
    await use(element, "Plan");
    const second = new ReceivedQuery(bridge, element, await bridge.next("query"));
    equal([second.message.prompt, second.message.restrictTools], ["Plan my day", true]);
    assert(JSON.stringify(second.message.context).includes("c2"), "what a suggestion does not replace stays");
    equal(button(element, "Summarise").getAttribute("aria-disabled"), "true");
    for (const name of ["Summarise", "Plan"]) await use(element, name);
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

  async "Shift+Enter, a composition and an empty input do not send a question"() {
    const { bridge, element } = await box();
    write(element, "Hello");
    equal((await press(element, "Enter", true)).defaultPrevented, false);
    dispatchKey(element, "Enter", { isComposing: true });
    dispatchKey(element, "Enter", { keyCode: 229 });
    write(element, "  ");
    await press(element, "Enter");
    await use(element, "Ask AI");
    equal([bridge.has("query"), all(element, "[part=turn]").length], [false, 0]);
  },

  async "a key of a composition does not stop the answer"() {
    const { bridge, element, ask } = await box();
    const asked = await ask("?");
    for (const more of [{ isComposing: true }, { keyCode: 229 }]) equal(dispatchKey(element, "Escape", more).defaultPrevented, false);
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
    equal(await answerDialog("Allow"), "May the AI use clear_cards?");
    const { id, approved } = await bridge.next("query_answer");
    equal([id, approved], ["7", true]);
    await answerDialog("Do not allow");
    equal(element.shadowRoot.activeElement, input(element));
    equal((await bridge.next("query_answer")).approved, false);
    asked.progress(finished("7", "clear_cards"), { ...finished("8", "clear_cards", "it was denied"), outcome: "denied" });
    await asked.complete({ result: "Cleared." });
    equal(all(element, ".call").map(({ dataset }) => dataset.state), ["done", "cancelled"]);
  },

  async "a call of the agent's own tool is shown with its source and result"() {
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

  async "invisible characters are shown in all texts"() {
    const unseen = "\u202e\u200b\u2060\u3164\u2800\ufe00\u{e0100}";
    const seen = String.raw`\u{202e}\u{200b}\u{2060}\u{3164}\u{2800}\u{fe00}\u{e0100}`;
    const texts = (selector) => all(element, selector).map(({ textContent }) => textContent.trim());
    const { element, ask } = await box();
    const asked = await ask(`Ask${unseen}`);
    equal(asked.message.prompt, `Ask${unseen}`);
    const call = { id: "1", tool: `notes-read${unseen}`, source: "notes" };
    asked.progress({ type: "thinking", text: `Hm${unseen}` }, { type: "note", text: `Note${unseen}` });
    asked.progress({ type: "approval-requested", ...call, arguments: { [unseen]: unseen }, expiresInMs: 60_000 });
    await eventually(() => one(element, ".call[data-state=waiting]"));
    equal(texts(".call p")[0], `May the AI use read${seen} (notes)?`);
    equal(texts(".call pre"), [`{\n  "${seen}": "${seen}"\n}`]);
    assert(announced(element).includes(`May the AI use read${seen} (notes)?`), announced(element));
    asked.progress({ type: "tool-started", ...call, arguments: {} }, { type: "tool-finished", ...call, isError: false, result: unseen });
    asked.progress({ ...started("2", "list") }, finished("2", "list", `no${unseen}`));
    const markdown = `**a${unseen}** \`b${unseen}\` [c${unseen}](https://a.example/ "d${unseen}") &#x202e;&ZeroWidthSpace;❤\ufe0f 👩\u200d💻 می\u200cخواهم`;
    asked.progress(text(markdown));
    await asked.complete({ result: markdown });
    const answer = `a${seen} b${seen} c${seen} ${String.raw`\u{202e}\u{200b}`}❤\ufe0f 👩\u200d💻 می\u200cخواهم`;
    await eventually(() => one(element, "[part=text] strong"));
    equal([texts("[part=text]"), one(element, "[part=text] a").title], [[answer], `d${seen}`]);
    equal([texts(".thinking p"), texts(".note")], [[`Hm${seen}`], [`Note${seen}`]]);
    equal([texts(".question p"), texts(".call code")], [[`You asked: Ask${seen}`], [`read${seen} (notes)`, "list"]]);
    assert(texts(".call pre").includes(seen) && texts(".call .error").includes(`no${seen}`), texts(".call"));
    const failing = await ask("Work");
    await failing.fail({ code: "ModelStreamBroken", error: `broke${unseen}`, reason: `ask again${unseen}` });
    equal([texts("[part=failure]"), texts(".details")], [[`The answer broke off. Ask again${seen}.`], [`broke${seen}: ask again${seen} (ModelStreamBroken)`]]);
  },

  async "the question about a call of the agent's own tool says that it is not one of the page"() {
    const { bridge, element, ask } = await box({ options: { approvalDialog: false } });
    const asked = await ask("Write it down");
    const request = { type: "approval-requested", id: "1", tool: "notes-write_file", source: "notes", arguments: {}, expiresInMs: 60_000 };
    asked.progress(request);
    const call = await eventually(() => one(element, ".call[data-state=waiting]"));
    const question = ["May the AI use write_file (notes)?", "It is not a tool of this page, but of “notes”."];
    equal([...call.querySelectorAll("p")].map(({ textContent }) => textContent), question);
    equal(announced(element).filter((it) => question.includes(it)), question);
    await answerDialog("Allow");
    equal((await bridge.next("query_answer")).approved, true);
    await asked.complete({ result: "Done." });
  },

  async "the dialog also asks for a question of the previous document"() {
    const turn = { label: "Old", prompt: "Old", uuid: "u-1", state: "running", blocks: [] };
    sessionStorage.setItem("mcp-web:ask:reloaded", JSON.stringify({ turns: [turn] }));
    sessionStorage.setItem("mcp-web:session:http://bridge.example:Reloaded", "former-session u-1");
    const bridge = new Bridge();
    const mcpWeb = await bridge.page({ name: "Reloaded", storage: "session", bridgeUrl: "http://bridge.example" });
    const element = Object.assign(document.createElement("mcp-web-ask"), { id: "reloaded", mcpWeb });
    document.body.append(element);
    const asked = new ReceivedQuery(bridge, element, await bridge.next("query_attach"));
    // The messages of a bridge arrive in a later task.
    await frame();
    asked.say("accepted");
    asked.progress({ type: "approval-requested", id: "1", tool: "clear_cards", arguments: {}, expiresInMs: 60_000 });
    equal(await answerDialog("Do not allow"), "May the AI use clear_cards?");
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
});

/** The dialog that asks the user of the page whether the agent may make a call. */

import { asking, complete, nextQuery, progress, read, say, settled } from "./asking.js";
import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { byPerson, pressIn, surface, use } from "./person.js";

const request = (more) => ({ type: "approval-requested", id: "1", tool: "clear_cards", arguments: { column: "done" }, expiresInMs: 60_000, ...more });

/** A page whose query is running. */
async function running(options, pageOptions) {
  const page = await asking({ prompt: "?", ...options }, undefined, pageOptions);
  say(page.bridge, page.query, "accepted");
  return page;
}

/** A page whose query has requested an approval that the user is asked for. */
async function requested(more, options, pageOptions) {
  const page = await running(options, pageOptions);
  progress(page.bridge, page.query, request(more));
  return { ...page, dialog: await shown() };
}

const found = () => surface("approval");

async function until(condition) {
  while (!condition()) await new Promise((resolve) => requestAnimationFrame(resolve));
}

/** Returns the dialog, waiting for it if necessary. */
async function shown() {
  await until(found);
  return found();
}

const gone = () => assert(!document.querySelector("[data-mcp-web]"), "the dialog is still there");
const title = (dialog) => dialog.querySelector("h2").textContent;
const button = (dialog, name) => [...dialog.querySelectorAll("button")].find(({ computedName }) => computedName === name);
const focused = (dialog) => dialog.getRootNode().activeElement;
const answer = async (bridge) => {
  const { id, approved } = await bridge.next("query_answer");
  return [id, approved];
};

/** Dialogs are shown in the order of their requests: the next one is that of `tool` if none was shown before it. */
async function isNext({ bridge, query }, tool) {
  progress(bridge, query, request({ id: tool, tool }));
  const dialog = await shown();
  equal(title(dialog), `May the AI use ${tool}?`);
  await use(button(dialog, "Do not allow"));
  equal(await answer(bridge), [tool, false]);
}

export default {
  async "a call that must be approved is shown in a dialog, whose safe button has the focus"() {
    const before = document.body.appendChild(document.createElement("button"));
    before.focus();
    const args = { column: "done", "first line": "a\nb", count: 2, tags: ["x"], empty: "" };
    const { bridge, query, dialog } = await requested({ arguments: args });
    equal([dialog.computedRole, dialog.computedName], ["alertdialog", "May the AI use clear_cards?"]);
    const descriptions = dialog.getAttribute("aria-describedby").split(" ");
    const [message, time] = descriptions.map((id) => dialog.getRootNode().getElementById(id).textContent);
    equal(message, "It is a tool of Test app.");
    assert(/^If nobody answers, the call is refused within (60|59) s\.$/.test(time), time);
    const texts = (selector) => [...dialog.querySelectorAll(selector)].map(({ textContent }) => textContent);
    equal(texts("dt"), Object.keys(args));
    equal(texts("dd"), ["done", "a\nb", "2", '[\n  "x"\n]', '""']);
    const group = dialog.querySelector("[role=group]");
    equal([group.computedName, group.tabIndex], ["Arguments", 0]);
    equal(texts("button"), ["Do not allow", "Allow"]);
    equal(focused(dialog), button(dialog, "Do not allow"));
    await use(button(dialog, "Allow"));
    gone();
    equal(await answer(bridge), ["1", true]);
    equal(document.activeElement, before);
    before.remove();
    progress(bridge, query, { type: "tool-started", id: "1", tool: "clear_cards", arguments: args });
    complete(bridge, query, { result: "Cleared." });
    equal((await query.result).text, "Cleared.");
    assert(!bridge.has("query_answer"), "the request was answered once");
  },

  async "the refusing button and Escape refuse the call"() {
    for (const refuse of [(dialog) => use(button(dialog, "Do not allow")), (dialog) => pressIn(dialog, "Escape")]) {
      const { bridge, dialog } = await requested();
      await refuse(dialog);
      gone();
      equal(await answer(bridge), ["1", false]);
    }
  },

  async "a tool of a source is named with it, and the dialog says that it is not one of the page"() {
    const { bridge, dialog } = await requested({ tool: "notes-write_file", source: "notes", arguments: {} });
    equal(dialog.computedName, "May the AI use write_file (notes)?");
    equal(dialog.querySelector("#message").textContent, "It is not a tool of this page, but of “notes”.");
    assert(dialog.innerText.includes("The call has no arguments."), dialog.innerText);
    await use(button(dialog, "Do not allow"));
    await answer(bridge);
  },

  async "long arguments can be scrolled, and texts of the agent are shown as text"() {
    const html = "<b>bold</b>";
    const { bridge, dialog } = await requested({ tool: html, arguments: { [html]: `${html}\n`.repeat(500) } });
    equal([dialog.querySelectorAll("b").length, title(dialog)], [0, `May the AI use ${html}?`]);
    const fields = dialog.querySelector(".fields");
    assert(fields.scrollHeight > fields.clientHeight, "the arguments fit");
    const { bottom } = button(dialog, "Allow").getBoundingClientRect();
    assert(dialog.scrollHeight <= dialog.clientHeight && bottom < innerHeight, "the buttons are not in view");
    await use(button(dialog, "Do not allow"));
    await answer(bridge);
  },

  async "invisible characters are shown, in the name of the tool and in the names and values of its arguments"() {
    const unseen = "\u202e\u200b\u2060\u3164\u2800\ufe00\u{e0100}";
    const seen = String.raw`\u{202e}\u{200b}\u{2060}\u{3164}\u{2800}\u{fe00}\u{e0100}`;
    const args = { to: `ann@example.com${unseen}moc.live`, [`c${unseen}c`]: "", nested: { [unseen]: [unseen] }, note: "❤\ufe0f 👩\u200d💻 می\u200cخواهم" };
    const { bridge, dialog } = await requested({ tool: `clear${unseen}cards`, arguments: args });
    equal(dialog.computedName, `May the AI use clear${seen}cards?`);
    const texts = (selector) => [...dialog.querySelectorAll(selector)].map(({ textContent }) => textContent);
    equal(texts("dt"), ["to", `c${seen}c`, "nested", "note"]);
    equal(texts("dd"), [`ann@example.com${seen}moc.live`, '""', `{\n  "${seen}": [\n    "${seen}"\n  ]\n}`, args.note]);
    await use(button(dialog, "Do not allow"));
    equal(await answer(bridge), ["1", false]);
    const { bridge: other, dialog: ofSource } = await requested({ tool: `notes${unseen}-write`, source: `notes${unseen}`, arguments: {} });
    equal([title(ofSource), ofSource.querySelector("#message").textContent], [`May the AI use write (notes${seen})?`, `It is not a tool of this page, but of “notes${seen}”.`]);
    await use(button(ofSource, "Do not allow"));
    await answer(other);
  },

  async "the remaining time is updated each second"() {
    const { bridge, dialog } = await requested({ expiresInMs: 5_000 });
    const time = dialog.querySelector("[role=timer]");
    const { textContent: first } = time;
    await until(() => time.textContent !== first);
    equal([first, time.textContent], [5, 4].map((seconds) => `If nobody answers, the call is refused within ${seconds} s.`));
    await use(button(dialog, "Do not allow"));
    await answer(bridge);
  },

  async "a request without a time limit does not expire"() {
    const { bridge, dialog } = await requested({ expiresInMs: undefined });
    equal(dialog.querySelector("[role=timer]"), null);
    await use(button(dialog, "Allow"));
    equal(await answer(bridge), ["1", true]);
  },

  async "an app that has begun to read the events answers itself"() {
    const page = await running();
    const events = read(page.query);
    await settled();
    progress(page.bridge, page.query, request());
    await settled();
    await byPerson(() => page.query.approve("1"));
    equal(await answer(page.bridge), ["1", true]);
    await isNext(await running(), "of_another_query");
    complete(page.bridge, page.query, { result: "Cleared." });
    equal((await events).map(({ type }) => type), ["approval-requested"]);
  },

  async "an app that begins to read the events later also gets the request"() {
    const { bridge, query, dialog } = await requested();
    const { value } = await query[Symbol.asyncIterator]().next();
    equal([value.type, value.id, dialog.open], ["approval-requested", "1", true]);
    query.approve("1", false);
    gone();
    equal(await answer(bridge), ["1", false]);
    progress(bridge, query, request({ id: "2", tool: "later" }));
    await isNext(await running(), "of_another_query");
  },

  async "the option decides whether there is a dialog"() {
    const always = await running({ approvalDialog: true });
    read(always.query).catch(() => {});
    await settled();
    await isNext(always, "read");
    const never = await running({ approvalDialog: false });
    progress(never.bridge, never.query, request());
    await isNext(await running({ approvalDialog: undefined }), "of_another_query");
  },

  async "the dialog is closed when the request is answered elsewhere, or the query ends"() {
    const finished = { type: "tool-finished", id: "1", tool: "clear_cards", isError: true, error: "refused", outcome: "denied" };
    const { warn } = console;
    const warnings = [];
    console.warn = (text) => warnings.push(text);
    for (const end of [
      ({ query }) => query.approve("1", false),
      ({ bridge, query }) => progress(bridge, query, { type: "tool-started", id: "1", tool: "clear_cards", arguments: {} }),
      ({ bridge, query }) => progress(bridge, query, finished),
      ({ bridge, query }) => say(bridge, query, "failure", { code: "AgentFailed", error: "it failed" }),
      ({ bridge, query }) => say(bridge, query, "cancel"),
      ({ query }) => query.cancel(),
      ({ mcpWeb }) => void mcpWeb.disconnect(),
    ]) {
      const page = await requested();
      page.query.result.catch(() => {});
      end(page);
      gone();
    }
    const { bridge, query } = await requested();
    complete(bridge, query, { result: "Done." });
    await query.result;
    gone();
    await settled();
    console.warn = warn;
    equal([bridge.has("query_answer"), warnings], [false, []], "what the user has not answered is not answered");
  },

  async "the dialog is closed when the request expires"() {
    const { bridge } = await requested({ expiresInMs: 300 });
    await until(() => !found());
    gone();
    assert(!bridge.has("query_answer"));
  },

  async "the same call that is requested again has a new dialog"() {
    const { bridge, query, dialog } = await requested();
    progress(bridge, query, request({ arguments: { column: "todo" } }));
    await until(() => found() && found() !== dialog);
    equal(found().querySelector("dd").textContent, "todo");
    await use(button(found(), "Allow"));
    equal(await answer(bridge), ["1", true]);
    await settled();
    assert(!bridge.has("query_answer"));
  },

  async "several requests are shown one at a time, without those that were answered meanwhile"() {
    const { bridge, query, dialog } = await requested();
    for (const id of ["2", "3"]) progress(bridge, query, request({ id, tool: `tool_${id}` }));
    await settled();
    equal(document.querySelectorAll("[data-mcp-web]").length, 1);
    query.approve("2", false);
    equal(await answer(bridge), ["2", false]);
    await use(button(dialog, "Allow"));
    equal(await answer(bridge), ["1", true]);
    const next = await shown();
    equal(title(next), "May the AI use tool_3?");
    await use(button(next, "Do not allow"));
    equal(await answer(bridge), ["3", false]);
    gone();
  },

  async "after a reload, the request that is still open is shown again"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const query = mcpWeb.attachQuery("u-1");
    await bridge.next("query_attach");
    say(bridge, query, "accepted");
    // The bridge sends its stored events again, from the beginning.
    progress(bridge, query, request({ id: "1", tool: "answered" }), 1);
    progress(bridge, query, { type: "tool-started", id: "1", tool: "answered", arguments: {} }, 2);
    progress(bridge, query, request({ id: "2", tool: "open" }), 3);
    const dialog = await shown();
    equal(title(dialog), "May the AI use open?");
    await use(button(dialog, "Allow"));
    equal(await answer(bridge), ["2", true]);
    const silent = mcpWeb.attachQuery("u-2", { approvalDialog: false });
    await bridge.next("query_attach");
    progress(bridge, silent, request());
    const asked = mcpWeb.query({ prompt: "?" });
    await nextQuery(bridge);
    await isNext({ bridge, query: asked }, "of_another_query");
  },

  async "a document that attaches to its own query may change how approvals are requested"() {
    const { bridge, mcpWeb, query } = await running({ approvalDialog: false });
    mcpWeb.attachQuery(query.uuid);
    await settled();
    progress(bridge, query, request());
    mcpWeb.attachQuery(query.uuid, { approvalDialog: true });
    await settled();
    await isNext({ bridge, query }, "later");
  },

  async "the dialog uses the texts of the app"() {
    const dialogStrings = {
      tool: (name, source) => `${source ?? "Seite"}: ${name}`,
      approval: (tool) => `Darf die KI ${tool} benutzen?`,
      pageTool: (app) => `Gehört zu ${app}.`,
      sourceTool: (source) => `Gehört zu ${source}.`,
      noArguments: "Ohne Angaben.",
      arguments: "Angaben",
      approve: "Erlauben",
      deny: "Nicht erlauben",
      timeLeft: (seconds) => `Noch ${Math.ceil(seconds / 60)} min`,
    };
    for (const [more, name, message] of [
      [{}, "Darf die KI Seite: clear_cards benutzen?", "Gehört zu Test app."],
      [{ source: "notes" }, "Darf die KI notes: clear_cards benutzen?", "Gehört zu notes."],
    ]) {
      const { bridge, dialog } = await requested(more, {}, { dialogStrings });
      equal([dialog.computedName, dialog.querySelector("#message").textContent], [name, message]);
      equal([dialog.querySelector("[role=group]").computedName, dialog.querySelector("[role=timer]").textContent], ["Angaben", "Noch 1 min"]);
      assert(button(dialog, "Nicht erlauben"));
      await use(button(dialog, "Erlauben"));
      equal(await answer(bridge), ["1", true]);
    }
    const { bridge, dialog } = await requested({ arguments: {} }, {}, { dialogStrings: { ...dialogStrings, approve: undefined } });
    assert(dialog.innerText.includes("Ohne Angaben."), dialog.innerText);
    await use(button(dialog, "Allow"));
    await answer(bridge);
  },

  async "in a worker there is no dialog, and a warning is logged"() {
    const worker = new Worker("./approval-worker.js", { type: "module" });
    const warning = await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
    worker.terminate();
    equal(warning, 'mcp-web: the user cannot be asked whether "clear" may be called: a worker has no document for a dialog');
    gone();
  },
};

/** Everything that asks the person, or is reserved for them, in a page with page tools. */

import { nextQuery, progress, say, settled } from "./asking.js";
import { equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { enablePageTools } from "./mcp-web-page.js";
import "./mcp-web-ask.js";
import { byPerson, press, surface } from "./person.js";

/** The events of a person that scripts imitate. */
const INPUT = ["click", "dblclick", "contextmenu", "keydown", "keypress", "keyup", "pointerdown", "pointerup", "mousedown", "mouseup", "input", "change", "drop", "submit"];

export const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1)); // sleep: one turn of a poll
};

/** A page with page tools, whose calls the test makes as a client. */
export class Client {
  #responses = new Map();

  static async start(options = {}, pageOptions = {}) {
    const client = new Client();
    client.bridge = new Bridge();
    client.mcpWeb = await client.bridge.page({ elicitInPage: "always", ...pageOptions });
    client.tools = enablePageTools(client.mcpWeb, options);
    await client.bridge.register();
    void client.#receive();
    return client;
  }

  async #receive() {
    for (;;) {
      const response = await this.bridge.next("call-response", "call-error");
      this.#responses.set(response.requestId, response);
    }
  }

  /** Begins a call, and returns its id. */
  begin(toolName, toolInput = {}) {
    return this.bridge.start({ type: "tool-call", toolName, toolInput, context: { progress: true } });
  }

  /** Begins a list of actions, all of which are tried. */
  act(...actions) {
    return this.begin("interact", { actions, onError: "continue", view: "page" });
  }

  hasEnded(call) {
    return this.#responses.has(call);
  }

  /** The answer of a call. */
  async response(call) {
    await until(() => this.#responses.has(call));
    return this.#responses.get(call);
  }

  cancel(requestId) {
    this.bridge.say({ type: "call-cancel", requestId, code: "CallCancelled", reason: "the row is over" });
  }

  /** Waits until a call reports why it waits, or has ended, and returns that text. */
  async reason(call) {
    await until(() => this.bridge.has("call-progress") || this.hasEnded(call));
    if (this.hasEnded(call)) return JSON.stringify(this.#responses.get(call));
    let message;
    while (this.bridge.has("call-progress")) ({ message } = await this.bridge.next("call-progress"));
    return message;
  }

  /** Returns whether the page has sent a query since the last check. */
  async hasAsked() {
    let hasAsked = false;
    while (this.bridge.has("query")) hasAsked = !!(await this.bridge.next("query"));
    return hasAsked;
  }

  /** The answers to requests for approval that have arrived. */
  async answers() {
    const answers = [];
    while (this.bridge.has("query_answer")) answers.push((await this.bridge.next("query_answer")).approved);
    return answers;
  }
}

/** Counts the events of scripts in a node, and at its window for the whole page. */
export function watch(node) {
  const seen = [];
  const note = (event) => event.isTrusted || seen.push(event.type);
  for (const type of INPUT) node.addEventListener(type, note, true);
  return { seen, stop: () => INPUT.forEach((type) => node.removeEventListener(type, note, true)) };
}

const html = (content) => {
  const main = document.body.appendChild(document.createElement("main"));
  main.innerHTML = `<input aria-label="Name"> <button id="other">Other</button> <div id="handle" role="button" tabindex="0" style="width: 40px">Handle</div>${content}`;
  return main;
};

/** The query of a page, with a call that waits for approval. */
async function approval(client, options, content = "") {
  const main = html(content);
  const { bridge, mcpWeb } = client;
  const query = await byPerson(() => mcpWeb.query({ prompt: "?", ...options }));
  query.result.catch(() => {});
  await nextQuery(bridge);
  // The answers of former rows.
  await client.answers();
  say(bridge, query, "accepted");
  const request = { type: "approval-requested", id: "1", tool: "danger", arguments: {}, expiresInMs: 60_000 };
  return {
    main,
    query,
    request: () => progress(bridge, query, request),
    approved: async () => (await client.answers()).includes(true),
    close: async () => {
      query.cancel();
      await settled();
      main.remove();
    },
  };
}

/**
 * The surfaces that ask the person. `open` shows one and returns whether it was answered, the root of the part that is
 * reserved for the person, and a function that closes it. `button` and `field` are the elements that a person would use.
 * While a surface with `blocks` is open, page tools do nothing.
 */
export const SURFACES = {
  "the dialog of an approval": {
    blocks: true,
    button: "Allow",
    field: "Arguments",
    async open(client) {
      const it = await approval(client, { approvalDialog: true });
      it.request();
      await until(() => surface("approval"));
      return { ...it, inside: surface("approval").getRootNode() };
    },
  },
  "an elicitation": {
    blocks: true,
    button: "Send",
    field: "I agree",
    async open(client) {
      const main = html("");
      let answer;
      const schema = { type: "object", properties: { ok: { type: "boolean", title: "I agree" } } };
      client.mcpWeb.addTool({ name: "asks", handler: async (_, ctx) => (answer = (await ctx.elicit({ message: "Sure?", schema })).action) });
      await client.bridge.register();
      const requestId = client.bridge.start({ type: "tool-call", toolName: "asks", toolInput: {}, context: {} });
      await until(() => surface("elicitation"));
      const close = async () => {
        client.bridge.say({ type: "call-cancel", requestId, code: "CallCancelled", reason: "over" });
        await until(() => !surface());
        main.remove();
      };
      return { main, inside: surface("elicitation").getRootNode(), approved: async () => answer === "accept", close };
    },
  },
  "the dialog of <mcp-web-ask>": {
    blocks: true,
    button: "Allow",
    field: "Ask AI",
    async open(client) {
      const main = html("");
      const element = Object.assign(document.createElement("mcp-web-ask"), { mcpWeb: client.mcpWeb });
      element.setAttribute("storage", "none");
      main.append(element);
      element.focus();
      element.shadowRoot.querySelector("textarea").value = "Clear it";
      await press("Enter");
      const { uuid } = await nextQuery(client.bridge);
      say(client.bridge, { uuid }, "accepted");
      progress(client.bridge, { uuid }, { type: "approval-requested", id: "1", tool: "danger", arguments: {}, expiresInMs: 60_000 });
      await until(() => surface("approval"));
      const approved = async () => (await client.answers()).includes(true);
      const close = async () => {
        element.stop();
        await settled();
        main.remove();
      };
      return { main, inside: surface("approval").getRootNode(), approved, close };
    },
  },
  "an app's own button that calls approve()": {
    blocks: true,
    button: "Allow it",
    field: "Reason",
    async open(client) {
      const content = `<form id="own"><label>Reason <input></label> <label for="allow">The label of it</label> <button id="allow" aria-label="Allow it">Allow it</button></form>`;
      const it = await approval(client, { approvalDialog: false }, content);
      const approve = () => {
        try {
          it.query.approve("1");
        } catch (error) {
          equal(error.code, "PersonRequired");
        }
      };
      const form = it.main.querySelector("#own");
      form.querySelector("button").addEventListener("click", approve);
      form.addEventListener("submit", (event) => (event.preventDefault(), approve()));
      it.request();
      await settled();
      return it;
    },
  },
  "an app's own button that calls query()": {
    blocks: false,
    button: "Ask it",
    field: "Question",
    async open(client) {
      const main = html(`<form id="own"><label>Question <input></label> <label for="ask">The label of it</label> <button id="ask" aria-label="Ask it">Ask it</button></form>`);
      const ask = () => void client.mcpWeb.query({ prompt: "?" }).result.catch(({ code }) => equal(code, "PersonRequired"));
      const form = main.querySelector("#own");
      form.querySelector("button").addEventListener("click", ask);
      form.addEventListener("submit", (event) => (event.preventDefault(), ask()));
      return { main, approved: () => client.hasAsked(), close: async () => main.remove() };
    },
  },
  "the box of <mcp-web-ask>": {
    blocks: false,
    button: "Ask AI",
    field: "Ask AI",
    async open(client) {
      const main = html("");
      const element = Object.assign(document.createElement("mcp-web-ask"), { mcpWeb: client.mcpWeb, suggestions: ["Clear the board"] });
      element.setAttribute("storage", "none");
      main.append(element);
      await settled();
      element.shadowRoot.querySelector("textarea").value = "Clear it";
      return { main, inside: element.shadowRoot, approved: () => client.hasAsked(), close: async () => main.remove() };
    },
  },
  "a chat that is marked with data-mcp-person": {
    blocks: false,
    button: "Approve",
    field: "Message",
    async open() {
      const main = html(`<label for="yes">The label of it</label> <button form="chat" id="outside">Outside</button>
        <form id="around"><button form="around" id="plain" type="submit">Around</button></form>
        <button popovertarget="pop" id="opener">Opens</button> <button commandfor="pop" command="show-popover" id="commander">Commands</button>
        <section aria-label="Panel" tabindex="0"><div data-mcp-person id="marked"><form id="chat"><label>Message <input></label> <button id="yes" aria-label="Approve">Approve</button></form>
          <button form="around">Of the form around</button> <div popover id="pop">Popover</div></div></section>`);
      let used = 0;
      const marked = main.querySelector("#marked");
      // The person is typing.
      marked.querySelector("input").focus();
      for (const type of ["click", "submit", "keydown", "toggle"]) marked.addEventListener(type, (event) => (event.preventDefault(), used++), true);
      main.querySelector("#around").addEventListener("submit", (event) => (event.preventDefault(), used++));
      return { main, inside: marked, approved: async () => used > 0, close: async () => main.remove() };
    },
  },
};

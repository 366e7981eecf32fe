/** The calls of page tools: one at a time, and the rest of a list after a failed action. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { enablePageTools } from "./mcp-web-page.js";
import { CallQueue, MAX_WAIT_MS } from "./page-tools/call-queue.ts";
import { MAX_PERSON_WAIT_MS, PersonWait } from "./page-tools/person-wait.ts";
import { REFUSE_QUERY } from "./person/refuse-query.ts";
import { openQuestion } from "./person/tab.ts";

const NEVER = new AbortController().signal;

/** Creates a queue, with the waits that it has started, and a function that ends the newest one. */
function makeQueue() {
  const waits = [];
  const queue = new CallQueue((ms) => new Promise((end) => waits.push({ ms, end })));
  return { queue, waits };
}

/** A form whose field refuses the value, and a client that fills it in and submits it. */
const withForm = (run) => async () => {
  const main = document.body.appendChild(document.createElement("main"));
  main.innerHTML = `<input aria-label="Code"> <button>Send</button>`;
  main.querySelector("input").oninput = ({ target }) => (target.value = target.value.toUpperCase());
  const page = { sent: 0 };
  main.querySelector("button").onclick = () => (page.sent += 1);
  const bridge = new Bridge();
  const tools = enablePageTools(await bridge.page(), { root: main });
  await bridge.register();
  const actions = [
    { type: "setValue", find: { name: "Code" }, value: "abc" },
    { type: "triggerEvent", find: { name: "Send" }, event: "onClick" },
  ];
  page.interact = (args) => bridge.tool("interact", { actions, view: "none", ...args });
  page.bridge = bridge;
  try {
    await run(page);
  } finally {
    tools.remove();
    main.remove();
  }
};

const factsOf = (answer) => answer._meta["mcp-web/page"];
const codesOf = (answer) => factsOf(answer).log.map(({ code }) => code);

export default {
  "page tools that are rejected leave nothing in the window": async () => {
    const listeners = [];
    const { addEventListener } = window;
    window.addEventListener = (type, _, { signal } = {}) => listeners.push({ type, signal });
    try {
      const mcpWeb = await new Bridge().page();
      mcpWeb.addTool({ name: "interact", handler() {} });
      listeners.length = 0;
      for (const options of [{}, { limits: { maxHandles: -1 } }]) {
        let error;
        try {
          enablePageTools(mcpWeb, options);
        } catch (thrown) {
          error = thrown;
        }
        assert(/already|maxHandles/.test(error?.message), error);
      }
      equal(listeners.filter(({ type, signal }) => /^(focusin|input)$/.test(type) && !signal?.aborted), []);
      equal(window[REFUSE_QUERY], undefined);
    } finally {
      window.addEventListener = addEventListener;
    }
  },
  "no action runs after a failed action, and the result is an error with its facts": withForm(async (page) => {
    const answer = await page.interact({});
    equal([answer.type, answer.code, page.sent], ["call-error", "HandlerFailed", 0]);
    equal([codesOf(answer), factsOf(answer).skipped], [["ValueRefused"], 1]);
    equal("isError" in factsOf(answer), false);
    const [{ text }] = answer.content;
    assert(text.endsWith("\nstopped because action 1 failed, 1 action skipped: nothing after it was done; look at the page, then call again with the rest"), text);
    // The data for the next document.
    let handedOver;
    while (page.bridge.has("call-hand-over")) handedOver = (await page.bridge.next("call-hand-over")).state;
    equal([handedOver.started, handedOver.report.stopped, handedOver.report.skipped], [true, true, 1]);
    equal(handedOver.report.log.map(({ code }) => code), ["ValueRefused"]);
  }),
  "the actions after a failed action run if the client requests it": withForm(async (page) => {
    const answer = await page.interact({ onError: "continue" });
    equal([answer.type, page.sent], ["call-error", 1]);
    equal([codesOf(answer), factsOf(answer).skipped], [["ValueRefused", undefined], 0]);
  }),
  "a list without a failed action is not an error": withForm(async (page) => {
    const actions = [{ type: "setValue", find: { name: "Code" }, value: "ABC" }];
    const answer = await page.interact({ actions, onError: "stop" });
    equal([answer.type, codesOf(answer)], ["call-response", [undefined]]);
  }),
  "onError accepts no other value": withForm(async (page) => {
    for (const onError of ["skip", null, true]) {
      const { code, message } = await page.interact({ onError });
      equal([code, message, page.sent], ["InvalidArguments", "onError must be one of stop, continue", 0]);
    }
  }),
  "a call begins when the previous one has ended": async () => {
    const { queue } = makeQueue();
    const order = [];
    let endFirst;
    const first = queue.run(NEVER, () => new Promise((resolve) => (endFirst = () => resolve(order.push("first")))));
    const second = queue.run(NEVER, async () => order.push("second"));
    await Promise.resolve();
    endFirst();
    await Promise.all([first, second]);
    equal(order, ["first", "second"]);
  },
  "a call that waits for 60 s fails without an effect, and reports that": async () => {
    const { queue, waits } = makeQueue();
    let endFirst;
    const first = queue.run(NEVER, () => new Promise((resolve) => (endFirst = resolve)));
    let hasRun = false;
    const second = queue.run(NEVER, async () => (hasRun = true));
    while (!waits.length) await new Promise((resolve) => setTimeout(resolve)); // sleep: one turn, until the second call waits
    equal([waits[0].ms, MAX_WAIT_MS], [60_000, 60_000]);
    waits[0].end();
    const error = await second.catch((error) => error);
    equal([error.code, error.data], [undefined, { reason: "PageBusy" }]);
    endFirst();
    await first;
    equal(await queue.run(NEVER, async () => "third"), "third");
    equal(hasRun, false);
  },
  "a call waits for the person for 60 s in total, and reports why": async () => {
    const { now } = performance;
    let passed = 0;
    performance.now = () => now.call(performance) + passed;
    const close = openQuestion("May the AI use danger?");
    const reports = [];
    const person = new PersonWait(async (ms) => void (passed += ms), (message) => reports.push(message));
    try {
      equal(await person.untilAnswered(NEVER), false);
      equal([MAX_PERSON_WAIT_MS, Math.round(person.waitedMs / 1000), reports.length], [60_000, 60, 12]);
      assert(/^the person at the page is asked something \(May the AI use danger\?\)/.test(reports[0]), reports[0]);
      equal([await person.untilAnswered(NEVER), reports.length], [false, 12], "the time is that of the whole call");
      close();
      equal(await person.untilAnswered(NEVER), true);
    } finally {
      close();
      performance.now = now;
    }
  },
};

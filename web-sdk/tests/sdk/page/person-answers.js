/** Events that count as an answer of the person, and events that do not, even if they come from the browser. */

import { nextQuery, progress, say, settled } from "./asking.js";
import { assert, equal, rejects } from "./assert.js";
import { enablePageTools } from "./mcp-web-page.js";
import { byPerson, click, isReady, press, pressIn, surface, use } from "./person.js";
import { Client, SURFACES, until, watch } from "./person-surfaces.js";

let client;
const shared = () => (client ??= Client.start());
const open = async (name) => SURFACES[name].open(await shared());
const button = (it, name) => [...(it.inside ?? it.main).querySelectorAll("button")].find(({ textContent }) => textContent === name);
const DIALOG = "the dialog of an approval";
const ofDialog = (run) => async () => {
  const it = await open(DIALOG);
  const allow = button(it, "Allow");
  await run(it, allow, it.inside.host);
  await it.close();
};

/** A click that the browser makes. */
const tests = {};
for (const [name, key] of [["a click", undefined], ["Enter", "Enter"], ["Space", " "]]) {
  for (const surfaceName of Object.keys(SURFACES).filter((name) => !name.startsWith("a chat"))) {
    tests[`${name} of the person answers: ${surfaceName}`] = async () => {
      const it = await open(surfaceName);
      if (it.inside && surface()) await isReady(surface());
      const target = button(it, SURFACES[surfaceName].button);
      // Tab leads to the button: the focus begins at the other one.
      if (key) target.focus();
      await (key ? press(key) : click(target));
      let isAnswered = false;
      await until(() => (it.approved().then((approved) => (isAnswered ||= approved)), isAnswered));
      await it.close();
    };
  }
}

Object.assign(tests, {
  "the button that refuses has the focus, and Tab leads to the other one": ofDialog(async (it) => {
    await isReady(surface());
    equal(it.inside.activeElement.textContent, "Do not allow");
    await press("Tab");
    equal(it.inside.activeElement.textContent, "Allow");
    await press("Enter");
    await until(() => !surface());
    assert(await it.approved());
  }),

  "a click and a key within 500 ms are not an answer, and the dialog stays": ofDialog(async (it, allow) => {
    await click(allow);
    await press("Escape");
    await press("Enter");
    assert(surface(), "the dialog is gone");
    equal(await it.approved(), false);
    await use(allow);
    await until(() => !surface());
  }),

  "a covered dialog accepts no answer, and comes to the front again": ofDialog(async (it, allow) => {
    await isReady(surface());
    const cover = document.body.appendChild(document.createElement("div"));
    cover.popover = "manual";
    cover.style.cssText = "position: fixed; inset: 0; width: 100vw; height: 100vh; margin: 0; pointer-events: none; background: white";
    cover.showPopover();
    const dialog = document.body.appendChild(document.createElement("dialog"));
    dialog.style.cssText = "width: 100vw; height: 100vh; max-width: none; max-height: none";
    dialog.showModal();
    // The key goes to the button, although it is not visible.
    allow.focus();
    await press("Enter");
    await click(allow);
    equal(await it.approved(), false);
    const isInFront = () => document.elementFromPoint(innerWidth / 2, innerHeight / 2) === it.inside.host;
    await until(isInFront);
    dialog.remove();
    cover.remove();
    await isReady(surface());
    await click(allow);
    await until(() => !surface());
    assert(await it.approved());
  }),

  "a dialog in a window without the focus accepts no answer": ofDialog(async (it, allow) => {
    await isReady(surface());
    const { hasFocus } = Document.prototype;
    Document.prototype.hasFocus = () => false;
    await click(allow);
    Document.prototype.hasFocus = hasFocus;
    equal([await it.approved(), Boolean(surface())], [false, true]);
    await click(allow);
    await until(() => !surface());
  }),

  "a dialog in a hidden tab accepts no answer, and waits again when the tab is shown": ofDialog(async (it, allow) => {
    await isReady(surface());
    const shown = Object.getOwnPropertyDescriptor(Document.prototype, "visibilityState");
    const set = (state) => {
      Object.defineProperty(Document.prototype, "visibilityState", { configurable: true, get: () => state });
      document.dispatchEvent(new Event("visibilitychange"));
    };
    set("hidden");
    await click(allow);
    set("visible");
    await click(allow);
    Object.defineProperty(Document.prototype, "visibilityState", shown);
    equal(await it.approved(), false);
    await new Promise((resolve) => setTimeout(resolve, 510)); // sleep: the dialog accepts no answer before
    await click(allow);
    await until(() => !surface());
  }),

  "a dialog whose page removes it comes back": ofDialog(async (it, allow, host) => {
    host.remove();
    await until(() => host.isConnected && surface());
    await isReady(surface());
    await click(allow);
    await until(() => !surface());
    assert(await it.approved());
  }),

  "the styles of the page for all elements do not hide the dialog": ofDialog(async (it, allow) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { pointer-events: none !important; visibility: hidden !important; opacity: 0 !important } div { display: none !important }");
    document.adoptedStyleSheets.push(sheet);
    await isReady(surface());
    await click(allow);
    document.adoptedStyleSheets.pop();
    await until(() => !surface());
    assert(await it.approved());
  }),

  "no script of the page reaches the content of the dialog": ofDialog(async (it, allow, host) => {
    equal([host.shadowRoot, document.activeElement, document.querySelector("dialog[open]")], [null, host, null]);
    equal(document.elementFromPoint(innerWidth / 2, innerHeight / 2), host);
    let seen;
    document.addEventListener("keydown", (event) => (seen = event.key), { once: true, capture: true });
    await press("Tab");
    equal(seen, undefined, "the page gets the keys of the dialog");
    document.dispatchEvent(new KeyboardEvent("keydown"));
  }),

  "the element and its state are not listed, also where it is the root, or around it": async () => {
    for (const root of [() => document.documentElement, () => surface()?.getRootNode().host ?? document.body]) {
      const client = await Client.start({ root });
      const it = await SURFACES[DIALOG].open(client);
      const call = client.begin("page_snapshot");
      assert((await client.reason(call)).startsWith("the person at the page is asked something (May the AI use danger?)"));
      client.cancel(call);
      await it.close();
    }
    client = undefined;
  },

  "the person sees the asking client, with the tool and its arguments": async () => {
    const { bridge, mcpWeb } = await shared();
    mcpWeb.addTool({ name: "clear_board", handler: (_, ctx) => ctx.elicit({ message: "Sure?", schema: { type: "object", properties: {} } }) });
    await bridge.register();
    const client = { info: { name: "claude", title: "Claude" }, capabilities: {} };
    const requestId = bridge.start({ type: "tool-call", toolName: "clear_board", toolInput: { column: "done" }, context: { client } });
    await until(() => surface());
    const texts = [surface().querySelector("h2"), ...surface().querySelectorAll("summary, dt, dd")].map(({ textContent }) => textContent);
    equal(texts, ["Claude asks", "The tool clear_board asks this.", "column", "done"]);
    bridge.say({ type: "call-cancel", requestId, code: "CallCancelled", reason: "over" });
    await until(() => !surface());
  },

  "with two clients, the page tools of neither act while the other's tool asks": async () => {
    const ada = await Client.start({ prefix: "a_" }, { authToken: "a".repeat(16), name: "Ada" });
    const bob = await Client.start({ prefix: "b_" }, { authToken: "b".repeat(16), name: "Bob" });
    const it = await SURFACES[DIALOG].open(ada);
    const page = watch(window);
    const actions = { actions: [{ type: "triggerEvent", event: "onClick", find: { name: "Other" } }, { type: "pressKey", key: "Enter" }] };
    const calls = [ada.begin("a_interact", actions), bob.begin("b_interact", actions)];
    for (const [index, one] of [ada, bob].entries()) assert((await one.reason(calls[index])).startsWith("the person"));
    equal(page.seen, []);
    await it.query.approve("1", false);
    for (const [index, one] of [ada, bob].entries()) equal((await one.response(calls[index]))._meta["mcp-web/page"].log.map(({ code }) => code), [undefined, undefined]);
    page.stop();
    await it.close();
    client = undefined;
  },

  "an action that began before the dialog pauses, and continues after the answer": async () => {
    const client = await Client.start();
    const it = await SURFACES["an app's own button that calls query()"].open(client);
    const page = watch(window);
    const drag = client.act({ type: "drag", find: { name: "Handle" }, to: { find: { name: "Ask it" } }, steps: 50 });
    await until(() => page.seen.includes("pointerdown"));
    const own = await SURFACES[DIALOG].open(client);
    await isReady(surface());
    const { length } = page.seen;
    await new Promise((resolve) => setTimeout(resolve, 100)); // sleep: six moves of the drag would come
    equal(page.seen.length, length, "events of the drag while the dialog is open");
    await use(button(own, "Do not allow"));
    equal((await client.response(drag))._meta["mcp-web/page"].log[0].ok, true);
    assert(page.seen.includes("pointerup"));
    equal(client.bridge.has("query"), false);
    page.stop();
    await own.close();
    await it.close();
  },

  "an action whose handler asks the person returns its log, and the list continues after the answer": async () => {
    const client = await Client.start();
    const main = document.body.appendChild(document.createElement("main"));
    main.innerHTML = `<button>Delete</button><input aria-label="Note">`;
    client.mcpWeb.addTool({ name: "ask", handler: (_, ctx) => ctx.elicit({ message: "Sure?", schema: { type: "object", properties: {} } }) });
    await client.bridge.register();
    let asking;
    main.querySelector("button").onclick = () => (asking = client.begin("ask"));
    const call = client.act({ type: "triggerEvent", event: "onClick", find: { name: "Delete" } }, { type: "setValue", value: "x", find: { name: "Note" } });
    await until(() => surface("elicitation"));
    assert((await client.reason(call)).startsWith("the person"));
    equal(main.querySelector("input").value, "");
    await use([...surface().querySelectorAll("button")].at(-1));
    equal((await client.response(asking)).result, { action: "accept", content: {} });
    equal((await client.response(call))._meta["mcp-web/page"].log.map(({ ok }) => ok), [true, true]);
    equal(main.querySelector("input").value, "x");
    main.remove();
  },

  "the app's own confirm is asked while no other call acts, and does not wait for itself": async () => {
    let answer;
    const client = await Client.start({ confirm: () => new Promise((resolve) => (answer = resolve)) });
    const main = document.body.appendChild(document.createElement("main"));
    main.innerHTML = `<button>Delete</button>`;
    const call = client.act({ type: "triggerEvent", event: "onClick", find: { name: "Delete" } });
    await until(() => answer);
    const other = client.begin("page_snapshot");
    assert((await client.reason(other)).startsWith("the person at the page is asked something (whether an AI client may do something in the page)"));
    answer(true);
    equal((await client.response(call))._meta["mcp-web/page"].log[0].ok, true);
    assert((await client.response(other)).content);
    main.remove();
  },

  "an app that declares it answers by itself, and page tools continue": async () => {
    const client = await Client.start({}, { approvals: "app" });
    const query = client.mcpWeb.query({ prompt: "?", approvalDialog: false });
    query.result.catch(() => {});
    await nextQuery(client.bridge);
    say(client.bridge, query, "accepted");
    progress(client.bridge, query, { type: "approval-requested", id: "1", tool: "danger", arguments: {}, expiresInMs: 60_000 });
    await settled();
    assert((await client.response(client.begin("get_pages"))).result);
    query.approve("1");
    await until(() => client.bridge.has("query_answer"));
    equal(await client.answers(), [true]);
    query.cancel();
  },

  "an answer of the person counts after an await, unless a script has acted meanwhile": async () => {
    const client = await Client.start();
    const it = await SURFACES["an app's own button that calls approve()"].open(client);
    const later = (meanwhile) =>
      byPerson(async () => {
        await settled();
        await meanwhile();
        it.query.approve("1");
      });
    await rejects(later(() => it.main.querySelector("input").dispatchEvent(new Event("change", { bubbles: true }))), { code: "PersonRequired", message: /call approve\(\) in the handler of a click or a key/ });
    await it.close();
  },

  "a click of page tools on a checkbox is not an act of the person, although its change is trusted": async () => {
    const client = await Client.start();
    const main = document.body.appendChild(document.createElement("main"));
    main.innerHTML = `<label><input type="checkbox"> Go</label> <label><input type="radio" name="r" checked> One</label> <label><input type="radio" name="r"> Two</label>`;
    const codes = [];
    const ask = () => client.mcpWeb.query({ prompt: "?" }).result.catch(({ code }) => codes.push(code));
    for (const input of main.querySelectorAll("input")) input.onchange = () => (ask(), settled().then(ask));
    const call = client.act({ type: "setValue", value: true, find: { name: "Go" } }, { type: "pressKey", key: "ArrowDown", find: { name: "One" } });
    await client.response(call);
    await until(() => codes.length === 4);
    equal([codes, client.bridge.has("query")], [Array(4).fill("PersonRequired"), false]);
    main.remove();
  },

  "page tools do not continue in the task of the answer": async () => {
    const client = await Client.start({ setState: () => void client.mcpWeb.query({ prompt: "?" }).result.catch(({ code }) => codes.push(code)) });
    const codes = [];
    const it = await SURFACES[DIALOG].open(client);
    const call = client.act({ type: "setState", key: "a", value: 1 });
    await client.reason(call);
    await use(button(it, "Do not allow"));
    equal((await client.response(call))._meta["mcp-web/page"].log[0].ok, true);
    await until(() => codes.length);
    equal([codes, client.bridge.has("query")], [["PersonRequired"], false]);
    await it.close();
  },

  "an element that an action reserves for the person is not used by the rest of the action": async () => {
    const client = await Client.start();
    const main = document.body.appendChild(document.createElement("main"));
    main.innerHTML = `<button>Delete</button> <input aria-label="Name">`;
    let confirmed = 0;
    const [first, field] = [main.querySelector("button"), main.querySelector("input")];
    first.onclick = () => (first.hasAttribute("data-mcp-person") ? confirmed++ : first.setAttribute("data-mcp-person", ""));
    field.onfocus = () => field.setAttribute("data-mcp-person", "");
    const call = client.act({ type: "triggerEvent", event: "onDoubleClick", find: { name: "Delete" } }, { type: "setValue", value: "x", find: { name: "Name" } });
    const codes = (await client.response(call))._meta["mcp-web/page"].log.map(({ code }) => code);
    equal([codes, confirmed, field.value], [["TargetPrivate", "TargetPrivate"], 0, ""]);
    main.remove();
  },

  "the person's own confirm is asked while an action answers those of the page": async () => {
    const client = await Client.start();
    const main = document.body.appendChild(document.createElement("main"));
    main.innerHTML = `<button id="slow">Slow</button> <button id="own">Delete all</button>`;
    const asked = [];
    const { confirm } = globalThis;
    globalThis.confirm = (text) => (asked.push(text), false);
    main.querySelector("#slow").onclick = () => fetch("/never", { signal: AbortSignal.timeout(1_000) }).catch(() => {});
    let answer;
    main.querySelector("#own").onclick = () => (answer = globalThis.confirm("All?"));
    const page = watch(window);
    const call = client.act({ type: "triggerEvent", event: "onClick", dialog: true, find: { name: "Slow" } });
    await until(() => page.seen.includes("click"));
    await click(main.querySelector("#own"));
    equal([answer, asked], [false, ["All?"]]);
    await client.response(call);
    globalThis.confirm = confirm;
    page.stop();
    main.remove();
  },

  "removing page tools does not end the guard of newer ones": async () => {
    const client = await Client.start();
    const removed = client.tools.remove();
    enablePageTools(client.mcpWeb);
    await settled();
    if (client.bridge.has("unregister")) client.bridge.say({ ...(await client.bridge.next("unregister")), type: "unregistered" });
    await Promise.race([removed, new Promise((resolve) => setTimeout(resolve, 100))]); // sleep: tools of the same names may stay registered
    document.body.appendChild(document.createElement("i")).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await rejects(client.mcpWeb.query({ prompt: "?" }).result, { code: "PersonRequired" });
  },

  "a focus trap of a page's dialog does not intercept the answers": ofDialog(async (it, allow) => {
    const end = new AbortController();
    const stop = (event) => (event.preventDefault(), event.stopImmediatePropagation());
    for (const type of ["focusin", "mousedown", "touchstart", "click", "keydown"]) document.addEventListener(type, stop, { capture: true, signal: end.signal });
    await isReady(surface());
    await click(allow);
    end.abort();
    await until(() => !surface());
    assert(await it.approved());
  }),

  "the dialogs of two copies of the SDK are answered one at a time": async () => {
    const it = await open(DIALOG);
    const { elicit } = await import("./mcp-web-dialog.js?copy");
    const other = elicit({ appName: "Copy", asker: "Other", message: "Sure?", schema: { properties: {} } }, new AbortController().signal);
    await until(() => surface("elicitation"));
    await use([...surface("elicitation").querySelectorAll("button")].at(-1));
    equal((await other).action, "accept");
    await isReady(surface("approval"));
    // It accepts answers half a second after it is in front again.
    while (surface("approval")) await click(button(it, "Allow"));
    assert(await it.approved());
    await it.close();
  },

  "a key that is held down is not an answer": async () => {
    const it = await open("an elicitation");
    await isReady(surface());
    surface().querySelector("input").focus();
    await press("Enter", false, true);
    equal([await it.approved(), Boolean(surface())], [false, true]);
    await press("Enter");
    await until(() => !surface());
    await it.close();
  },

  "events that a component derives from the person's events count as theirs": async () => {
    const client = await Client.start();
    const asked = await byPerson(() => {
      const target = new EventTarget();
      let query;
      target.addEventListener("ask", () => (query = client.mcpWeb.query({ prompt: "?" })));
      document.body.dispatchEvent(new Event("change", { bubbles: true }));
      target.dispatchEvent(new CustomEvent("ask"));
      return query;
    });
    asked.result.catch(() => {});
    await nextQuery(client.bridge);
    asked.cancel();
  },

  "a query needs the person while page tools can act, and not if they only read or are removed": async () => {
    // The page tools of former tests are still enabled.
    delete globalThis[Symbol.for("mcp-web.refuseQuery")];
    const acting = await Client.start();
    document.body.appendChild(document.createElement("i")).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await rejects(acting.mcpWeb.query({ prompt: "?" }).result, { code: "PersonRequired", message: /page tools are on/ });
    assert(!acting.bridge.has("query"));
    const asked = await byPerson(() => acting.mcpWeb.query({ prompt: "?" }));
    await nextQuery(acting.bridge);
    asked.result.catch(() => {});
    asked.cancel();
    const removed = acting.tools.remove();
    const { registrationId, items } = await acting.bridge.next("unregister");
    acting.bridge.say({ type: "unregistered", registrationId, items });
    await removed;
    const reading = await Client.start({ readOnly: true });
    for (const { mcpWeb, bridge } of [acting, reading]) {
      const free = mcpWeb.query({ prompt: "!" });
      free.result.catch(() => {});
      await nextQuery(bridge);
      free.cancel();
    }
  },
});

export default tests;

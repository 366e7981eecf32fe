/** The recording during an action, the end of its effects, and the clean-up afterwards. */

import { assert, equal, rejects } from "./assert.js";
import { Clock } from "./page-tools/dom/clock.ts";
import { nextTask } from "./mcp-web/next-task.ts";
import { withPage } from "./page-fixture.js";

const NEVER = new AbortController().signal;

/** Runs an action that clicks a button with a given handler. */
const onClick = (handler, check, action) =>
  withPage("<button id='t'>x</button><output></output>", async (page) => {
    page.$("#t").addEventListener("click", () => handler(page));
    const start = performance.now();
    const outcome = await page.act({ type: "triggerEvent", event: "onClick", ...action }, "#t");
    await check(outcome, page, performance.now() - start);
  });

/** Everything that an action replaces. */
const replaced = () => [
  ...["alert", "confirm", "prompt", "print", "fetch"].map((name) => Object.getOwnPropertyDescriptor(window, name)),
  ...["open", "send"].map((name) => Object.getOwnPropertyDescriptor(XMLHttpRequest.prototype, name)),
  Object.getOwnPropertyDescriptor(console, "error"),
];

export default {
  "changes after some renders are awaited": onClick(
    async (page) => {
      for (let index = 0; index < 5; index++) {
        await (index ? new Promise(requestAnimationFrame) : nextTask());
        page.$("output").textContent = `render ${index}`;
      }
    },
    (outcome, page) => equal([page.$("output").textContent, outcome.warnings], ["render 4", undefined]),
  ),
  "work that a busy page has begun is awaited, however late it ends": onClick(
    async (page) => {
      for (let index = 0; index < 5; index++) {
        await nextTask();
        const busyUntil = performance.now() + 25;
        while (performance.now() < busyUntil);
      }
      page.$("output").textContent = "late";
    },
    (outcome, page) => equal([page.$("output").textContent, outcome.warnings], ["late", undefined]),
  ),
  "a page that does not change is at rest at once": onClick(
    () => {},
    (outcome, _, ms) => {
      equal(outcome.warnings, undefined);
      assert(ms < 1_000, `it took ${ms} ms, as a page that does not come to rest`);
    },
  ),
  "a page that mutates every 10 ms is read after a second": onClick(
    (page) => {
      const timer = setInterval(() => (page.$("output") ? (page.$("output").textContent = Math.random()) : clearInterval(timer)), 10);
    },
    ({ warnings, code }, _, ms) => {
      equal([warnings, code], [["the page has not come to rest within 1000 ms"], undefined]);
      assert(ms >= 1_000 && ms < 3_000, `it took ${ms} ms`);
    },
  ),
  "requests and the effects of their responses are awaited": onClick(
    async (page) => {
      await (await fetch("/page.html")).text();
      const request = new XMLHttpRequest();
      request.open("GET", "/page.html");
      request.onload = () => (page.$("output").textContent = "both");
      request.send();
    },
    (outcome, page) => equal([page.$("output").textContent, outcome.warnings], ["both", undefined]),
  ),
  "failed requests are warnings, without possible secrets": onClick(
    async () => {
      await fetch("/none?token=secret");
      await fetch("http://127.0.0.1:1/").catch(() => {});
      const request = new XMLHttpRequest();
      request.open("POST", "/missing/../none");
      request.open("GET", "/none?x");
      request.send();
    },
    ({ warnings }) => {
      equal(warnings.map((text) => text.replace(/failed: .*/, "failed")), ["request GET /none failed with 404", "request GET http://127.0.0.1:1/ failed", "request GET /none failed with 404"]);
    },
  ),
  "a request that never ends is a warning after 5 s": onClick(
    () => void fetch("/never").catch(() => {}),
    ({ warnings }, _, ms) => {
      equal(warnings, ["request GET /never has not ended within 5000 ms"]);
      assert(ms >= 5_000 && ms < 8_000, `it took ${ms} ms`);
    },
  ),
  "dialogs are answered and logged": async () => {
    const answers = [];
    const ask = () => answers.push([confirm("Sure?"), prompt("Name", "preset")]) && alert("Done");
    await onClick(ask, ({ dialog }) => equal(dialog, 'confirm "Sure?" false; prompt "Name" null; alert "Done"'))();
    await onClick(ask, ({ dialog }) => equal(dialog, 'confirm "Sure?" true; prompt "Name" "preset"; alert "Done"'), { dialog: true })();
    await onClick(ask, ({ dialog }) => equal(dialog, 'confirm "Sure?" true; prompt "Name" "Ada"; alert "Done"'), { dialog: "Ada" })();
    equal(answers, [[false, null], [true, "preset"], [true, "Ada"]]);
  },
  "errors of the page are warnings, at most 10 of 300 characters": async () => {
    await onClick(
      () => {
        console.error("broken", new Error("why"));
        Promise.reject(new Error("rejected"));
        throw new Error("thrown");
      },
      ({ warnings }) => equal(warnings, ["console: broken why", "uncaught: Uncaught Error: thrown", "unhandled rejection: rejected"]),
    )();
    await onClick(
      () => Array.from({ length: 11 }, () => console.error("x".repeat(400))),
      ({ warnings }) => equal([warnings.length, warnings[0].length], [10, 300]),
    )();
  },
  "changed elements are listed by their handles, at most 10": async () => {
    await withPage("<button id='t'>x</button><div tabindex='0' id='u'><b>old</b></div><input id='v'><p>unnamed</p>", async (page) => {
      const [, u, v] = ["#t", "#u", "#v"].map((selector) => page.ref(selector));
      page.$("#t").addEventListener("click", () => {
        page.$("b").textContent = "new";
        page.$("p").textContent = "new";
        page.$("#v").disabled = true;
      });
      equal((await page.click("#t")).changed, [u, v]);
    })();
    await withPage(`<button id='t'>x</button>${"<button class='b'>x</button>".repeat(11)}`, async (page) => {
      page.tree();
      page.$("#t").addEventListener("click", () => page.root.querySelectorAll(".b").forEach((button) => (button.disabled = true)));
      equal((await page.click("#t")).changed.length, 10);
    })();
  },
  "a navigation in the document is recorded, and a jump to a fragment is not": async () => {
    const here = location.pathname + location.search;
    await onClick(() => history.pushState(null, "", "/elsewhere"), ({ navigated }) => equal(navigated, "/elsewhere"))();
    await onClick(() => history.replaceState(null, "", `${here}#/route`), ({ navigated }) => equal(navigated, `${here}#/route`))();
    await onClick(() => history.replaceState(null, "", here), ({ navigated }) => equal(navigated, here))();
    await onClick(() => history.replaceState(null, "", `${here}#place`), ({ navigated }) => equal(navigated, undefined))();
    history.replaceState(null, "", here);
  },
  "a frame that navigates is awaited": withPage("<iframe title='F' src='/assert.js'></iframe><button id='t'>x</button>", async (page) => {
    const frame = page.$("iframe");
    await new Promise((resolve) => frame.addEventListener("load", resolve));
    page.$("#t").addEventListener("click", () => frame.contentWindow.location.assign("/page-fixture.js"));
    const { navigated } = await page.click("#t");
    equal([frame.contentWindow.location.pathname, frame.contentDocument.readyState, navigated], ["/page-fixture.js", "complete", undefined]);
  }),
  "nothing is left after an action": async () => {
    const before = replaced();
    const added = [];
    const add = EventTarget.prototype.addEventListener;
    const workers = [];
    const OwnWorker = window.Worker;
    const observers = [];
    const { observe, disconnect } = MutationObserver.prototype;
    await withPage("<button id='t'>x</button>", async (page) => {
      page.ref("#t");
      window.Worker = class extends OwnWorker {
        constructor(url) {
          super(url);
          workers.push("started");
        }
        terminate() {
          super.terminate();
          workers.push("ended");
        }
      };
      MutationObserver.prototype.observe = function (...args) {
        observers.push(this);
        return observe.apply(this, args);
      };
      MutationObserver.prototype.disconnect = function () {
        while (observers.includes(this)) observers.splice(observers.indexOf(this), 1);
        return disconnect.call(this);
      };
      EventTarget.prototype.addEventListener = function (type, listener, options) {
        if (this === window || this === document) added.push(options?.signal);
        return add.call(this, type, listener, options);
      };
      const action = { type: "triggerEvent", event: "onClick" };
      const ref = page.ref("#t");
      page.driver.beginAction(action);
      assert(replaced().some((one, index) => one.value !== before[index].value), "nothing was replaced");
      await page.driver.apply(action, ref, undefined, NEVER);
      await page.driver.rest(false, NEVER);
      await page.driver.change(60, NEVER);
      page.driver.endAction();
    })();
    Object.assign(MutationObserver.prototype, { observe, disconnect });
    EventTarget.prototype.addEventListener = add;
    window.Worker = OwnWorker;
    equal([workers, observers.length], [["started", "ended"], 0]);
    assert(added.length > 0 && added.every((signal) => !signal || signal.aborted), "a listener is left");
    const after = replaced();
    assert(before.every((one, index) => JSON.stringify(one) === JSON.stringify(after[index]) && one.value === after[index].value), "a function is not as it was");
  },
  "a function that the page has replaced meanwhile stays": async () => {
    const own = () => {};
    const original = window.alert;
    await onClick(() => (window.alert = own), () => equal(window.alert === own, true))();
    window.alert = original;
  },
  "a wait uses no timer of the page, and ends with its signal": async () => {
    // The page of the tests also sets a timer when a test has begun.
    await nextTask();
    const timers = { setTimeout, setInterval, requestAnimationFrame };
    const used = [];
    for (const name of Object.keys(timers)) window[name] = (...args) => (used.push(name), timers[name].apply(window, args));
    const clock = new Clock();
    const start = performance.now();
    await clock.sleep(30);
    const ms = performance.now() - start;
    const end = new AbortController();
    const waiting = clock.sleep(60_000, end.signal);
    end.abort();
    await rejects(waiting, { name: "AbortError" });
    clock.release();
    Object.assign(window, timers);
    equal(used, []);
    assert(ms >= 30, `it took ${ms} ms`);
  },
  "a wait where a policy forbids Workers": async () => {
    const frame = document.createElement("iframe");
    frame.srcdoc = `<meta http-equiv="content-security-policy" content="worker-src 'none'"><script type="module">
      import { Clock } from "/page-tools/dom/clock.ts";
      const start = performance.now();
      const clock = new Clock();
      await clock.sleep(40);
      await clock.sleep(20);
      clock.release();
      parent.postMessage(performance.now() - start, "*");
    </` + "script>";
    const message = new Promise((resolve) => addEventListener("message", resolve, { once: true }));
    document.body.append(frame);
    const { data: ms } = await message;
    frame.remove();
    assert(ms >= 60, `it took ${ms} ms`);
  },
  "a wait for a change": withPage("<output></output>", async (page) => {
    const start = performance.now();
    await page.driver.change(2_000, NEVER).then(() => {}, () => {});
    const unchanged = performance.now() - start;
    queueMicrotask(() => (page.$("output").textContent = "x"));
    const again = performance.now();
    await page.driver.change(2_000, NEVER);
    const changed = performance.now() - again;
    assert(unchanged >= 2_000 && changed >= 50 && changed < 1_000, `${unchanged} and ${changed} ms`);
  }),
  "waiting for a text to appear, and to disappear": withPage("<output>Loading</output>", async (page) => {
    nextTask().then(() => new Clock().sleep(80)).then(() => (page.$("output").textContent = "Loaded it"));
    equal((await page.act({ type: "waitFor", text: "loaded", gone: "Loading" })).code, undefined);
    equal((await page.act({ type: "waitFor", text: "never", ms: 60 })).code, "ActionTimeout");
  }),
  "a text is awaited in the form that AI clients read": withPage("<output>Ver\u00adsand\u200bkosten \u{e0041}👩\u200d💻</output>", async (page) => {
    equal((await page.act({ type: "waitFor", text: "Versandkosten 👩\u200d💻", ms: 60 })).code, undefined);
  }),
  "between two values one task is enough": withPage("<input id='t'>", async (page) => {
    let tasks = 0;
    let isActing = true;
    const acting = page.act({ type: "setValue", value: "x" }, "#t", undefined, { isBrief: true }).then(() => (isActing = false));
    for (; isActing; tasks++) await nextTask();
    await acting;
    assert(tasks < 10, `it took ${tasks} tasks`);
  }),
};

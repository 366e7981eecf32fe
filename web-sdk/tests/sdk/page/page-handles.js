/** Handles of elements: never reused, and stale after their elements are gone. */

import { assert, equal } from "./assert.js";
import { DomDriver } from "./page-tools/dom/driver.ts";
import { Handles } from "./page-tools/dom/handles.ts";
import { nodesOf, withPage, treeAtOnce } from "./page-fixture.js";

const KEY = "mcp-web.page-handles";

const code = (run) => {
  try {
    run();
    return undefined;
  } catch (error) {
    return error.code;
  }
};

/** A handle for each of some new elements in the page. */
function make(handles, count, isPinned = false) {
  const elements = Array.from({ length: count }, () => document.body.appendChild(document.createElement("i")));
  return [elements, handles.batch(() => elements.map((element) => handles.assign(element, isPinned)))];
}

export default {
  "an element keeps its handle when elements around it are rendered": withPage("<ul><li><button id='t'>A</button></li></ul>", (page) => {
    const ref = page.ref("#t");
    page.$("ul").prepend(...Array.from({ length: 20 }, () => Object.assign(document.createElement("li"), { innerHTML: "<button>New</button>" })));
    page.$("#t").textContent = "B";
    equal([page.ref("#t"), page.driver.element(ref) === page.$("#t")], [ref, true]);
  }),
  "an element that replaces another one has its own handle": withPage("<div><button id='t'>A</button></div>", (page) => {
    const ref = page.ref("#t");
    page.$("div").innerHTML = "<button id='t'>A</button>";
    equal([code(() => page.driver.element(ref)), page.driver.inspect(ref, { type: "hover" }), page.ref("#t") === ref], ["TargetStale", "stale", false]);
  }),
  "an element that is moved or put back keeps its handle": withPage("<div><button id='t'>A</button></div><p></p>", (page) => {
    const ref = page.ref("#t");
    const button = page.$("#t");
    button.remove();
    equal(code(() => page.driver.element(ref)), "TargetStale");
    page.$("p").append(button);
    equal(page.driver.element(ref) === button, true);
  }),
  "an element of a document that its frame has left is stale": withPage("<iframe title='F' srcdoc='<button>x</button>'></iframe>", async (page) => {
    const frame = page.$("iframe");
    while (!frame.contentDocument?.querySelector("button")) await new Promise((resolve) => requestAnimationFrame(resolve));
    const ref = page.ref(frame.contentDocument.querySelector("button"));
    const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
    frame.srcdoc = "<button>y</button>";
    await loaded;
    equal(code(() => page.driver.element(ref)), "TargetStale");
  }),
  "a second driver of the tab, as in the next document, does not reuse numbers": withPage("<button id='t'>A</button>", (page) => {
    const ref = page.ref("#t");
    const next = new DomDriver({ root: page.root });
    equal(code(() => next.element(ref)), "TargetStale");
    equal(code(() => next.element("e123456789")), "TargetNotFound");
    const other = nodesOf(treeAtOnce(next, { limit: 9 }).root).find(({ role }) => role === "button").ref;
    assert(Number(other.slice(1)) > Number(ref.slice(1)), `${other} after ${ref}`);
    equal(Number(sessionStorage.getItem(KEY)) >= Number(other.slice(1)), true);
    // The first one reads the number that the other has used.
    page.root.insertAdjacentHTML("beforeend", "<button id='u'>B</button>");
    assert(Number(page.ref("#u").slice(1)) > Number(other.slice(1)));
  }),
  "a tab without storage": () => {
    const own = Object.getOwnPropertyDescriptor(window, "sessionStorage");
    Object.defineProperty(window, "sessionStorage", { configurable: true, get: () => { throw new DOMException("no", "SecurityError"); } });
    try {
      const [, [first]] = make(new Handles(10), 1);
      // The numbers of two documents differ by the time between them.
      assert(Number(first.slice(1)) > 1_000_000, first);
    } finally {
      Object.defineProperty(window, "sessionStorage", own);
    }
  },
  "at the limit, the least recently used handle is evicted": () => {
    const handles = new Handles(3);
    const [, pinned] = make(handles, 1, true);
    const [elements, refs] = make(handles, 2);
    equal([...pinned, ...refs].map((ref) => typeof handles.use(ref)), ["object", "object", "object"]);
    handles.use(refs[0]);
    const [, [newer]] = make(handles, 1);
    equal([handles.use(refs[0]) === elements[0], handles.use(refs[1]), typeof handles.use(pinned[0]), typeof handles.use(newer), handles.size], [true, "stale", "object", "object", 3]);
    // It gets a new number, not the old one.
    const again = handles.batch(() => handles.assign(elements[1]));
    assert(again !== refs[1] && handles.use(refs[1]) === "stale");
    document.body.querySelectorAll("i").forEach((element) => element.remove());
  },
  "10,000 handles by default": () => {
    const handles = new Handles(10_000);
    const [, refs] = make(handles, 10_000);
    equal([typeof handles.use(refs[9_999]), typeof handles.use(refs[1])], ["object", "object"]);
    make(handles, 1);
    equal([handles.size, handles.use(refs[0])], [10_000, "stale"]);
    document.body.querySelectorAll("i").forEach((element) => element.remove());
  },
  "limits are checked": () => {
    const range = (limits) => {
      try {
        new DomDriver({ limits });
      } catch (error) {
        return error.message;
      }
    };
    equal(range({ maxHandles: 100_000, maxValueBytes: 65_536 }), undefined);
    equal(range({ maxHandles: 100_001 }), "enablePageTools(): limits.maxHandles must be a whole number from 1 to 100000");
    equal(range({ maxValueBytes: 65_537 }), "enablePageTools(): limits.maxValueBytes must be a whole number from 1 to 65536");
    equal(range({ maxHandles: 0 }), "enablePageTools(): limits.maxHandles must be a whole number from 1 to 100000");
  },
};

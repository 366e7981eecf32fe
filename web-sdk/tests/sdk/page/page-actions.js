/** Actions on elements: clicks, events, methods, drags, and refusals. */

import { assert, equal, rejects } from "./assert.js";
import { eventsOf, withPage } from "./page-fixture.js";

const POINTER_AND_MOUSE = ["pointerover", "pointerenter", "mouseover", "mouseenter", "pointermove", "mousemove", "pointerdown", "mousedown", "focus", "focusin", "pointerup", "mouseup", "click", "dblclick", "contextmenu"];

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/** A test of the facts about an element. */
const facts = (html, expected, before) =>
  withPage(html, async (page) => {
    await before?.(page);
    const { label, ...known } = page.inspect("#t");
    assert(typeof label === "string" && label.length > 0);
    equal(known, expected, "what is known");
  });

export default {
  "a click has the events and fields of a mouse click": withPage("<button id='t'>Save</button>", async (page) => {
    const button = page.$("#t");
    const events = eventsOf(button, POINTER_AND_MOUSE);
    let fields;
    button.addEventListener("click", (event) => (fields = event));
    let down;
    button.addEventListener("pointerdown", (event) => (down = event));
    const outcome = await page.click("#t");
    equal(events, ["pointerover", "mouseover", "pointerenter", "mouseenter", "pointermove", "mousemove", "pointerdown", "mousedown", "focus", "focusin", "pointerup", "mouseup", "click"]);
    const box = button.getBoundingClientRect();
    equal([fields.button, fields.buttons, fields.detail, fields.pointerId, fields.isPrimary, fields.pointerType], [0, 0, 1, 1, true, "mouse"]);
    equal([down.buttons, Math.round(down.clientX), down.composed, down.view === window], [1, Math.round(box.x + box.width / 2), true, true]);
    assert(document.activeElement === button && !outcome.code);
  }),
  "a cancelled press has pointer events only": withPage("<button id='t'>Save</button>", async (page) => {
    page.$("#t").addEventListener("pointerdown", (event) => event.preventDefault());
    const events = eventsOf(page.$("#t"), ["mousedown", "focus", "pointerup", "mouseup", "click"]);
    await page.click("#t");
    equal(events, ["pointerup", "click"]);
  }),
  "a menu opens on pointerdown, captures the pointer and is visible at rest": withPage("<button id='t'>Menu</button>", async (page) => {
    page.$("#t").addEventListener("pointerdown", (event) => {
      event.target.setPointerCapture(event.pointerId);
      event.preventDefault();
      queueMicrotask(() => page.root.insertAdjacentHTML("beforeend", "<div role='menu'><div role='menuitem' tabindex='-1'>Copy</div></div>"));
    });
    const { warnings } = await page.click("#t");
    equal([page.lines(), warnings], [['- button "Menu"', "- menu", '  - menuitem "Copy"'], undefined]);
  }),
  "links, labels, summaries and checkboxes have their usual effects": withPage(
    "<details><summary>More</summary>Text</details><label id='l'>Yes <input type='checkbox'></label><a href='#there'>Go</a><form><button>Send</button></form>",
    async (page) => {
      let submitted = 0;
      page.$("form").addEventListener("submit", (event) => (event.preventDefault(), submitted++));
      await page.click("summary");
      await page.click("input");
      await page.click("a");
      await page.click("form button");
      equal([page.$("details").open, page.$("input").checked, location.hash, submitted], [true, true, "#there", 1]);
      history.replaceState(null, "", location.pathname + location.search);
    },
  ),
  "a control that is drawn by its label is clicked at the label": withPage(
    "<style>.sr{position:absolute;width:1px;height:1px;clip:rect(0 0 0 0);overflow:hidden}</style><input class='sr' id='t' type='checkbox'><label for='t'>Drawn</label>",
    async (page) => {
      equal(page.inspect("#t").coveredBy, undefined);
      await page.click("#t");
      equal(page.$("#t").checked, true);
    },
  ),
  "an element that is removed at the press gets no click": withPage("<button id='t'>Save</button>", async (page) => {
    page.$("#t").addEventListener("mousedown", () => page.$("#t").remove());
    const events = eventsOf(page.$("#t"), ["click"]);
    const { code } = await page.click("#t");
    equal([events, code], [[], undefined]);
  }),
  "double clicks and context menus": withPage("<button id='t'>Save</button>", async (page) => {
    const events = eventsOf(page.$("#t"), ["click", "dblclick", "contextmenu"]);
    await page.act({ type: "triggerEvent", event: "onDoubleClick" }, "#t");
    await page.act({ type: "triggerEvent", event: "onContextMenu" }, "#t");
    equal(events, ["click", "click", "dblclick", "contextmenu"]);
  }),
  "the focus moves with its events, and leaves": withPage("<input id='t'><input id='u'>", async (page) => {
    const events = [];
    for (const id of ["t", "u"]) for (const type of ["blur", "focusout", "focus", "focusin"]) page.$(`#${id}`).addEventListener(type, () => events.push(`${type} ${id}`));
    await page.act({ type: "triggerEvent", event: "onFocus" }, "#t");
    await page.act({ type: "triggerEvent", event: "onFocus" }, "#u");
    await page.act({ type: "triggerEvent", event: "onBlur" }, "#u");
    equal(events, ["focus t", "focusin t", "blur t", "focusout t", "focus u", "focusin u", "blur u", "focusout u"]);
    assert(document.activeElement === document.body);
  }),
  "any other event is dispatched, and an invalid name is refused": withPage("<button id='t'>Save</button>", async (page) => {
    const events = eventsOf(page.$("#t"), ["mousedown", "my-event", "keyup"]);
    for (const event of ["onMouseDown", "my-event", "keyup"]) equal((await page.act({ type: "triggerEvent", event }, "#t")).code, undefined);
    equal(events, ["mousedown", "my-event", "keyup"]);
    equal((await page.act({ type: "triggerEvent", event: "click me" }, "#t")).code, "EventUnknown");
  }),
  "the name of an event may be spelled in any way, and an event of the page keeps its name": withPage("<button id='t'>x</button>", async (page) => {
    const types = ["click", "dblclick", "contextmenu", "focusin", "compositionend", "Item-Picked", "foo", "constructor"];
    const events = [];
    for (const type of types) page.$("#t").addEventListener(type, () => events.push(type));
    for (const event of ["onclick", "CLICK", "Click", "onClick", "doubleClick", "onDblClick", "DBLCLICK", "ContextMenu", "FocusIn", "onCompositionEnd", "Item-Picked", "onFoo", "constructor"]) {
      events.length = 0;
      await page.act({ type: "triggerEvent", event }, "#t");
      const wanted = event.replace(/^on/i, "").replace(/double/i, "dbl");
      assert(events.some((type) => type === wanted || type === wanted.toLowerCase()), `${event}: ${events}`);
    }
  }),
  "a form is submitted, or the log says why not": withPage("<form aria-label='F'><input name='a' required aria-label='A'><button>Send</button></form>", async (page) => {
    let submitted = 0;
    page.$("form").addEventListener("submit", (event) => (event.preventDefault(), submitted++));
    const failed = await page.act({ type: "triggerEvent", event: "onSubmit" }, "input");
    equal([failed.code, submitted], ["ActionFailed", 0]);
    const clicked = await page.click("button");
    assert(/textbox "A": /.test(clicked.messages[0].content), JSON.stringify(clicked));
    page.$("input").value = "x";
    equal([(await page.act({ type: "triggerEvent", event: "onSubmit" }, "input")).code, submitted], [undefined, 1]);
    equal((await page.act({ type: "callMethod", method: "requestSubmit" }, "input")).code, undefined);
    equal(submitted, 2);
  }),
  "methods are called, and others are refused by name": withPage("<form><input type='number' name='reset' value='1' aria-label='N'><input type='text' aria-label='T' value='abc'></form><dialog id='d'>x</dialog><div tabindex='0' popover id='p'>y</div><video controls></video>", async (page) => {
    const call = (method, selector, args) => page.act({ type: "callMethod", method, args }, selector);
    const events = eventsOf(page.$("input"), ["input", "change"]);
    await call("stepUp", "input", [2]);
    equal([page.$("input").value, events], ["3", ["input", "change"]]);
    await call("reset", "input");
    equal(page.$("input").value, "1");
    await call("select", "[aria-label=T]");
    equal(page.$("[aria-label=T]").selectionEnd, 3);
    const unknown = await call("remove", "input");
    equal([unknown.code, unknown.error.includes("stepUp")], ["MethodUnknown", true]);
    equal((await call("pause", "video")).code, undefined);
    page.$("#d").show();
    await call("close", "#d");
    equal(page.$("#d").open, false);
    page.$("#p").showPopover();
    await call("hidePopover", "#p");
    assert(!page.$("#p").matches(":popover-open"));
  }),
  "hover enters an element, and leaves the previous one": withPage("<button id='t'>One</button><button id='u'>Two</button>", async (page) => {
    const events = eventsOf(page.$("#t"), ["mouseenter", "mousemove", "mouseleave"]);
    await page.act({ type: "hover" }, "#t");
    await page.act({ type: "hover" }, "#u");
    equal(events, ["mouseenter", "mousemove", "mouseleave"]);
  }),
  "scrolling moves the scrollable element, and is refused without one": withPage("<div id='t' style='height:50px;overflow:auto'><p style='height:500px'>Long</p></div>", async (page) => {
    await page.act({ type: "scroll", deltaY: 100 }, "#t");
    equal(page.$("#t").scrollTop, 100);
    page.$("#t").scrollTop = 10_000;
    document.documentElement.style.overflow = "hidden";
    const { warnings } = await page.act({ type: "scroll", deltaX: 5 }, "#t");
    document.documentElement.style.overflow = "";
    assert(/nothing has moved/.test(warnings?.[0]), String(warnings));
  }),
  "a slider is dragged with the pointer that it has captured": withPage("<div id='t' tabindex='0' style='width:20px;height:20px'>x</div><div id='u' tabindex='0' style='margin-left:300px;width:20px'>y</div>", async (page) => {
    const moves = [];
    page.$("#t").addEventListener("pointerdown", (event) => event.target.setPointerCapture(event.pointerId));
    page.$("#t").addEventListener("pointermove", (event) => event.buttons && moves.push(event.clientX));
    const ended = eventsOf(page.$("#t"), ["pointerup"]);
    const own = Object.getOwnPropertyDescriptor(Element.prototype, "setPointerCapture");
    await page.act({ type: "drag", steps: 4 }, "#t", "#u");
    equal([moves.length, moves.at(-1) > 290, ended], [4, true, ["pointerup"]]);
    assert(Object.getOwnPropertyDescriptor(Element.prototype, "setPointerCapture").value === own.value);
  }),
  "an item that becomes draggable at the press is dropped": withPage("<div id='t' tabindex='0'>x</div><div id='u' tabindex='0'>y</div>", async (page) => {
    const [item, place] = [page.$("#t"), page.$("#u")];
    item.addEventListener("pointerdown", () => (item.draggable = true));
    item.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", "moved"));
    place.addEventListener("dragover", (event) => event.preventDefault());
    let dropped;
    place.addEventListener("drop", (event) => (dropped = event.dataTransfer.getData("text/plain")));
    const events = [...[item, place].map((target) => eventsOf(target, ["dragstart", "dragenter", "drop", "dragend", "pointerup"]))];
    await page.act({ type: "drag" }, "#t", "#u");
    equal([dropped, events], ["moved", [["dragstart", "dragenter", "dragend"], ["dragenter", "drop"]]]);
  }),
  "elements in frames and shadow roots are used with the classes of their realm": withPage("<iframe title='F' srcdoc='<input aria-label=I><button>B</button>'></iframe><x-b></x-b>", async (page) => {
    page.$("x-b").attachShadow({ mode: "open" }).innerHTML = "<button>S</button>";
    const frame = page.$("iframe");
    while (!frame.contentDocument?.querySelector("button")) await nextFrame();
    const view = frame.contentWindow;
    const [input, button] = [frame.contentDocument.querySelector("input"), frame.contentDocument.querySelector("button")];
    const events = [];
    button.addEventListener("click", (event) => events.push(event instanceof view.PointerEvent && event.view === view));
    page.$("x-b").shadowRoot.querySelector("button").addEventListener("click", () => events.push("shadow"));
    const { readBack, code } = await page.set(input, "x");
    await page.click(button);
    await page.click(page.$("x-b").shadowRoot.querySelector("button"));
    equal([code, readBack.matches, input.value, events], [undefined, true, "x", [true, "shadow"]]);
    const box = input.getBoundingClientRect();
    equal([page.inspect(input).coveredBy, box.width > 0], [undefined, true]);
    frame.style.pointerEvents = "none";
    assert(page.inspect(input).coveredBy || page.inspect(input).hidden, "the frame cannot be hit");
  }),

  "facts: disabled": facts("<button id='t' disabled>x</button>", { disabled: "disabled" }),
  "facts: aria-disabled": facts("<div aria-disabled='true' role='group'><button id='t'>x</button></div>", { disabled: "aria-disabled" }),
  "facts: in a disabled fieldset": facts("<fieldset disabled><button id='t'>x</button></fieldset>", { disabled: "fieldset" }),
  "facts: in the legend of a disabled fieldset": facts("<fieldset disabled><legend><button id='t'>x</button></legend></fieldset>", {}),
  "facts: read-only": facts("<input id='t' readonly>", { readOnly: true, editable: true }),
  "facts: nothing": facts("<button id='t'>x</button>", {}),
  "facts: out of view": facts("<div style='height:3000px'></div><button id='t'>x</button><div style='height:3000px'></div>", {}),
  "facts: covered": facts("<button id='t'>x</button><div role='dialog' aria-label='Cookies' style='position:fixed;inset:0;background:red'><p>We use cookies</p></div>", { coveredBy: 'dialog "Cookies"' }),
  "facts: covered by what the page scrolls under": facts("<div style='position:fixed;inset:0 0 auto;height:40px;background:red'>Header</div><div style='height:3000px'></div><button id='t'>x</button>", {}, () => scrollTo(0, 10_000)),
  "facts that only come with time": async () => {
    await withPage("<button id='t'>x</button>", (page) => {
      const ref = page.ref("#t");
      const inspect = () => page.driver.inspect(ref, { type: "hover" });
      page.$("#t").style.visibility = "hidden";
      equal(inspect().hidden, true);
      page.$("#t").style = "position:fixed;left:-500px";
      equal(inspect().hidden, true);
      page.$("#t").style = "width:0;height:0;padding:0;border:0;overflow:hidden;display:block";
      equal(inspect().hidden, true);
      page.$("#t").style = "";
      page.root.inert = true;
      equal(inspect().disabled, "inert");
      page.root.inert = false;
      page.root.setAttribute("data-mcp-private", "");
      equal([inspect().private, inspect().label], [true, "button"]);
      page.root.removeAttribute("data-mcp-private");
      document.body.append(page.$("#t"));
      const moved = document.body.lastElementChild;
      equal(inspect().outside, true);
      moved.remove();
      equal(inspect(), "stale");
      equal(page.driver.inspect("e999999999", { type: "hover" }), "unknown");
      equal(page.driver.inspect("save", { type: "hover" }), "unknown");
    })();
    await withPage("<button id='t'>x</button><div role='dialog' aria-modal='true' aria-label='Box' hidden>Box</div>", (page) => {
      const ref = page.ref("#t");
      page.$("[role=dialog]").hidden = false;
      equal(page.driver.inspect(ref, { type: "hover" }).coveredBy, 'dialog "Box"');
    })();
  },
  "actions without their options are refused": withPage("<p>x</p>", async (page) => {
    equal((await page.act({ type: "setState", key: "a", value: 1 })).code, "ActionUnsupported");
    equal((await page.act({ type: "setGlobal", key: "a", value: 1 })).code, "ActionUnsupported");
    equal((await page.act({ type: "navigate", pageId: "elsewhere" })).code, "PageUnknown");
    equal((await page.act({ type: "navigate", pageId: "https://example.com/" })).code, "PageUnknown");
    equal((await page.act({ type: "hover" })).code, "TargetNotFound");
  }),
  "the app's own state, pages and router": async () => {
    const calls = [];
    const options = {
      pages: () => [{ pageId: "home", title: "Home", url: "/home" }, { pageId: "list", title: "List" }],
      navigate: (...args) => calls.push(["navigate", ...args]),
      state: () => ({ a: 1 }),
      setState: (...args) => calls.push(["setState", ...args]),
      global: () => ({ g: 1 }),
      setGlobal: (...args) => calls.push(["setGlobal", ...args]),
    };
    await withPage("<p>x</p>", async (page) => {
      await page.act({ type: "setState", values: { a: 1, b: 2 } });
      await page.act({ type: "setGlobal", key: "c", value: 3 });
      await page.act({ type: "navigate", pageId: "list", input: { id: 1 } });
      equal((await page.act({ type: "navigate", pageId: "none" })).code, "PageUnknown");
      await page.driver.open("home", undefined, new AbortController().signal);
      await rejects(page.driver.open("none", undefined, new AbortController().signal), { code: "PageUnknown" });
      equal(calls, [["setState", "a", 1], ["setState", "b", 2], ["setGlobal", "c", 3], ["navigate", "list", { id: 1 }], ["navigate", "home", undefined]]);
      const state = await page.driver.state();
      equal([state.state, state.global], [{ a: 1 }, { g: 1 }]);
      equal((await page.driver.pages()).map(({ pageId }) => pageId), ["home", "list"]);
    }, options)();
  },
};

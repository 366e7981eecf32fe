/** Content that the page hides from AI clients, and pages whose forms hide members of the browser. */

import { assert, equal } from "./assert.js";
import { interact } from "./core-fixture.js";
import { eventsOf, nodesOf, withPage, treeAtOnce } from "./page-fixture.js";

/** A test of the lines of some HTML. */
const lines = (html, expected, before, options) => withPage(html, async (page) => {
  await before?.(page);
  equal(page.lines(), expected, "the tree");
}, options);

const EDITOR = `<div id="t" contenteditable aria-label="Note" role="textbox"><p>public</p><p data-mcp-private>DE1234</p><p>end</p></div>`;

const stateOf = async (page) => (await page.driver.state()).state;

/** Returns whether anything that page tools show of a page contains a text. */
const shows = async (page, text) => `${page.lines().join("\n")}${JSON.stringify([await page.tree({ everyText: true }), await stateOf(page)])}`.includes(text);

const find = (words) => ({ find: words });
const click = (words) => ({ type: "triggerEvent", event: "onClick", ...find(words) });
const key = (name, words) => ({ type: "pressKey", key: name, ...(words && find(words)) });
const drag = (name) => ({ type: "drag", ...find({ name: "Item" }), to: find({ name }), steps: 2 });

/** An element that deletes something when it is clicked, submitted or dropped on. */
const DELETES = `data-deletes style="display: block; width: 100%; height: 40px"`;
const IMAGE = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
const FORM = `<form aria-label="Account" data-deletes><input aria-label="Reason"><button>Delete</button><button type="reset">Delete all</button></form>`;
const PANEL = `<div role="dialog" aria-label="Panel"><input aria-label="Name"><button ${DELETES}>Delete</button></div>`;
const LABELLED = `<label for="d">Options</label><button id="d" aria-label="Delete" data-deletes>x</button>`;

/** Ways that lead to an element with the word "Delete", none of which names it. */
const DELETIONS = {
  "an arrow key in a radio group": [`<input type="radio" name="r" aria-label="Keep" checked><input type="radio" name="r" aria-label="Delete" data-deletes>`, key("ArrowDown", { name: "Keep" })],
  "Enter for what contains the focus": [PANEL, key("Tab", { name: "Name" }), key("Enter", { name: "Panel" })],
  "Space for what contains the focus": [PANEL, key("Tab", { name: "Name" }), key(" ", { name: "Panel" })],
  "Enter on a label": [LABELLED, key("Enter", { text: "Options" })],
  "a click on a label": [LABELLED, click({ text: "Options" })],
  "something in a link": [`<a href="#x" data-deletes aria-label="Delete it"><span tabindex="0" role="group" aria-label="Go">x</span></a>`, click({ name: "Go" })],
  "something in a button": [`<button data-deletes aria-label="Delete it"><span tabindex="0" role="group" aria-label="Go">x</span></button>`, click({ name: "Go", role: "group" })],
  "a button in a link": [`<a href="#x" data-deletes aria-label="Delete it"><button type="button">Go</button></a>`, click({ name: "Go", role: "button" })],
  "a picture in the middle": [`<div role="group" tabindex="0" aria-label="Card"><img alt="Delete" ${DELETES} src="${IMAGE}"></div>`, click({ name: "Card" })],
  "a title in the middle": [`<div role="group" tabindex="0" aria-label="Card"><div title="Delete" ${DELETES}></div></div>`, click({ name: "Card" })],
  "what is drawn for a box": [`<div ${DELETES}><input type="checkbox" aria-label="A" style="opacity:0;width:1px;height:1px;position:absolute">Delete</div>`, click({ name: "A" })],
  "the value of what is drawn for a box": [`<div ${DELETES}><input type="checkbox" aria-label="A" style="opacity:0;width:1px;height:1px;position:absolute">Delete</div>`, { type: "setValue", value: true, ...find({ name: "A" }) }],
  ...Object.fromEntries(["td", "li", "p"].map((name) => [`a ${name}`, [name === "td" ? `<table><tr><td data-deletes>Delete</td></tr></table>` : `<${name} data-deletes>Delete</${name}>`, click({ text: "Delete" })]])),
  "what is in a row": [`<table><tr tabindex="0"><td data-deletes>Delete</td></tr></table>`, click({ role: "row" })],
  "the end of a long name": [`<button data-deletes>${"word ".repeat(30)} delete</button>`, click({ role: "button" })],
  "a popover that is not shown": [`<button popovertarget="v">Go</button><div popover role="dialog" id="v" aria-label="Delete?" data-deletes>x</div>`, click({ name: "Go" })],
  "a drop": [`<div role="group" draggable="true" aria-label="Item">x</div><div role="group" tabindex="0" aria-label="Delete" ${DELETES}>x</div>`, drag("Delete")],
  "a drop with the pointer": [`<div role="group" tabindex="0" aria-label="Item">x</div><div role="group" tabindex="0" aria-label="Delete" ${DELETES}>x</div>`, drag("Delete")],
  "a drop on what is around it": [`<div role="group" draggable="true" aria-label="Item">x</div><div role="group" tabindex="0" aria-label="Zone"><div ${DELETES}>Delete</div></div>`, drag("Zone")],
  "the event onSubmit": [FORM, { type: "triggerEvent", event: "onSubmit", ...find({ name: "Reason" }) }],
  "the method requestSubmit": [FORM, { type: "callMethod", method: "requestSubmit", ...find({ name: "Reason" }) }],
  "the method reset": [FORM, { type: "callMethod", method: "reset", ...find({ name: "Reason" }) }],
};

/** Records the events of the element that deletes something. */
function watchDeletions({ root }) {
  const seen = [];
  for (const one of root.querySelectorAll("[data-deletes]")) {
    one.addEventListener("dragover", (event) => event.preventDefault());
    for (const type of ["click", "submit", "reset", "drop", "pointerup", "beforetoggle"]) one.addEventListener(type, (event) => (type === "submit" && event.preventDefault(), seen.push(type)));
  }
  return seen;
}

export default {
  "an element that the app declines by its text is not used, whatever leads to it": async () => {
    for (const [way, [html, ...list]] of Object.entries(DELETIONS)) {
      await withPage(html, async (page) => {
        const seen = watchDeletions(page);
        const labels = [];
        const log = await interact(page.driver, list, { confirm: (_, { label }) => (labels.push(label), !/delete/i.test(label ?? "")) });
        equal([log.at(-1).code, seen], ["Declined", []], `${way}, with ${labels}:`);
      })();
      await withPage(html, async (page) => {
        const seen = watchDeletions(page);
        await interact(page.driver, list, { confirm: () => true });
        assert(seen.length, `${way}: nothing was used`);
        for (const open of page.root.querySelectorAll(":popover-open")) open.hidePopover();
      })();
    }
  },
  "an element whose text has changed since the app was asked is not used": withPage(`<button id="t">Keep</button>`, async (page) => {
    const clicks = eventsOf(page.$("#t"), ["click"]);
    const [{ code }] = await interact(page.driver, [click({ name: "Keep" })], { confirm: async () => void (page.$("#t").textContent = "Delete") });
    equal([code, clicks], ["TargetStale", []]);
    const [again] = await interact(page.driver, [click({ name: "Delete" })], { confirm: async () => {} });
    equal([again.code, clicks], [undefined, ["click"]]);
  }),
  "an action whose target is gone when it begins has a log entry, whenever the target disappears": async () => {
    for (let step = 1; step <= 12; step++) {
      await withPage(`<button id="a">A</button><button id="b">B</button>`, async (page) => {
        let steps = 0;
        const untilAnswered = async () => (++steps === step && page.$("#b").remove(), true);
        const log = await interact(page.driver, [click({ name: "A" }), { ...click(), ref: page.ref("#b"), find: undefined }], { confirm: () => true, untilAnswered });
        equal([log.length, log[0].code], [2, undefined], `at step ${step}`);
        assert(log[1].code === "TargetStale" || log[1].code === undefined, `at step ${step}: ${log[1].code}`);
      })();
    }
  },
  "an element that has become private is not given to the app's own functions": withPage(`<button id="t">A</button>`, (page) => {
    const ref = page.ref("#t");
    page.$("#t").setAttribute("data-mcp-private", "");
    let code;
    try {
      page.driver.element(ref);
    } catch (error) {
      ({ code } = error);
    }
    equal(code, "TargetPrivate");
  }),
  "private content beside a control does not prevent its use": async () => {
    for (const [html, target] of [
      [`<button command="show-modal" commandfor="d">T</button><dialog id="d"><input type="hidden" data-mcp-private><input></dialog>`, "button"],
      [`<p><input type="radio" aria-label="T"></p><input type="radio" data-mcp-private>`, "input"],
      [`<label><input type="checkbox" data-mcp-private>I accept the <a href="#terms">terms</a></label>`, "a"],
      [`<form onsubmit="event.preventDefault()"><input required aria-label="A"><input required data-mcp-private><button>T</button></form>`, "button"],
    ]) {
      await withPage(html, async (page) => {
        equal([page.inspect(target).private, (await page.click(target)).code], [undefined, undefined], html);
        page.$("dialog")?.close();
      })();
    }
  },
  "the name of a private form is not in the state": withPage(`<form id="DE1234" data-mcp-private></form><input name="a" form="DE1234" value="x">`, async (page) => equal(await stateOf(page), { a: "x" })),
  "a link of a picture opens no new tab": withPage(`<svg width="90" height="40"><a href="#x"><text y="20">T</text></a></svg>`, async (page) => {
    const [{ code, warnings }] = await interact(page.driver, [click({ text: "T" })]);
    equal([code, warnings], [undefined, undefined]);
  }),
  "Shift+Tab and Tab go from a radio button that is not a tab stop": withPage(
    `<input id="a"><input type="radio" name="r" checked><input type="radio" name="r" id="t"><input id="z">`,
    async (page) => {
      for (const [modifiers, next] of [[[], "z"], [["Shift"], ""]]) {
        page.$("#t").focus();
        await page.press("Tab", undefined, modifiers);
        equal(document.activeElement.id, next);
      }
    },
  ),
  "private content of an editor is in no value, and no value replaces it": withPage(EDITOR, async (page) => {
    equal(page.lines(), ['- textbox "Note": "public\\nend"']);
    equal(await stateOf(page), { t: "public\nend" });
    equal([page.inspect("#t", { type: "setValue", value: "x" }).private, page.inspect("#t").private], [true, undefined]);
    page.$("[data-mcp-private]").remove();
    equal(page.inspect("#t", { type: "setValue", value: "x" }).private, undefined);
  }),
  "no value is set in a private field through the elements around it": withPage("<div id='t' role='group' tabindex='0' aria-label='G'><span data-mcp-private><input></span></div>", (page) => {
    equal(page.inspect("#t", { type: "setValue", value: "x" }).private, true);
  }),
  "an editor with only private text has no value": lines(`<div contenteditable aria-label="N"><b data-mcp-private>DE1234</b></div>`, ['- textbox "N"']),
  "private content in a shadow root, or referenced inside a name, is in no name": withPage(
    `<button><x-a></x-a>Pay</button><a href="/x"><span aria-labelledby="p">own</span></a><button aria-owns="p">Owns</button>
     <button><x-b><i data-mcp-private>DE1234</i> rest</x-b></button><div data-mcp-private><b id="p">DE1234</b></div>
     <a href="/y"><input type="checkbox" id="c">Box</a><div data-mcp-private><label for="c">DE1234</label></div>`,
    async (page) => {
      page.$("x-a").attachShadow({ mode: "open" }).innerHTML = "<span data-mcp-private>DE1234</span>";
      page.$("x-b").attachShadow({ mode: "open" }).innerHTML = "<em><slot></slot></em>";
      const names = nodesOf(page.tree().root).filter(({ role }) => role === "button" || role === "link").map(({ name }) => name);
      equal(names, ["Pay", "own", "Owns", "rest", "Box"]);
      assert(!(await shows(page, "DE1234")));
    },
  ),
  "a password is in no name and no description": withPage(
    `<fieldset><legend>Login <input type="password" value="hunter2"></legend></fieldset><div id="d">Now <input type="password" value="hunter2"></div>
     <button aria-labelledby="d">x</button><button aria-describedby="d">Log in</button><a href="/x"><label>Key <input type="password" value="hunter2"></label></a>
     <label>Password <input type="password" value="hunter2"></label><label><img alt="Pin" src="data:,"><input type="password" value="hunter2"></label>`,
    async (page) => {
      assert(!(await shows(page, "hunter2")));
      const nodes = nodesOf(page.tree().root);
      equal(nodes.filter(({ role }) => role === "textbox").map(({ name }) => name), [null, null, "Key", "Password", "Pin"]);
      equal(nodes.filter(({ role }) => /button|group|link/.test(role)).map(({ name, description }) => [name, description]), [["Login", null], ["Now", null], ["Log in", "Now"], ["Key", null]]);
    },
  ),
  "a password stays hidden when the page shows it": withPage(
    `<form name="f"><input id="a" type="password" value="hunter2" name="a" aria-label="A"><input id="b" name="b" autocomplete="section-x new-password" value="hunter2" aria-label="B"></form>
     <a href="/x"><input type="text" autocomplete="current-password" value="hunter2">Enter</a><input name="c" autocomplete="one-time-code" value="123456">`,
    async (page) => {
      page.lines();
      page.$("#a").type = "text";
      assert(!(await shows(page, "hunter2")));
      equal(await stateOf(page), { f: { a: "(hidden)", b: "(hidden)" }, c: "(hidden)" });
      for (const id of ["#a", "#b"]) equal((await page.set(id, "secret")).readBack, { expected: "(hidden)", actual: "(hidden)", matches: true });
    },
  ),
  "a button with private content is clicked, and the private content gets no event": withPage(
    "<button id='t'>Pay <span id='s' data-mcp-private>DE1234</span></button><div id='c' tabindex='0' role='group' aria-label='Card'><button id='b' data-mcp-private style='width:100%'>DE1234</button></div>",
    async (page) => {
      for (const [target, inside] of [["#t", "#s"], ["#c", "#b"]]) {
        const [own, kept] = [eventsOf(page.$(target), ["click"]), eventsOf(page.$(inside), ["pointerdown", "mousedown", "click", "focus"])];
        equal([(await page.click(target)).code, own, kept], [undefined, ["click"], []]);
      }
    },
  ),
  "the browser's text about a field that is private or outside of the root is not shown": withPage(
    "<form id='f'><input id='p' aria-label='Public' required></form><form id='g'><input id='s' type='email' data-mcp-private value='DE1234'><input id='t' aria-label='Own' required></form><main><input id='i' aria-label='Inner' form='h'></main><form id='h'><input type='email' value='DE1234'></form>",
    async (page) => {
      const submit = { type: "triggerEvent", event: "onSubmit" };
      const [open, kept] = [await page.act(submit, "#p"), await page.act(submit, "#t")];
      equal([open.code, open.messages.length, kept.code], ["ActionFailed", 1, "TargetPrivate"]);
      equal(page.inspect("#t", submit), { label: 'what textbox "Own" acts on (textbox)', private: true });
      const inner = new page.driver.constructor({ root: page.$("main") });
      const [{ ref }] = nodesOf(treeAtOnce(inner, { limit: 10 }).root).filter(({ ref, role }) => ref && role === "textbox");
      equal(inner.inspect(ref, submit), { label: 'what textbox "Inner" acts on (an element)', outside: true });
      inner.dispose();
      assert(!JSON.stringify([open, kept]).includes("DE1234"));
    },
  ),
  "private options are not listed, shown or found": withPage(
    `<select id="t" name="t" aria-label="Account"><option value="1">Public<option value="2" data-mcp-private selected>DE1234<optgroup data-mcp-private label="DE"><option value="3">DE5678</optgroup></select>
     <select name="m" multiple aria-label="Several"><option selected>a<option selected data-mcp-private>DE1234</select>
     <button>Pay from <select><option data-mcp-private selected>DE1234</select></button>`,
    async (page) => {
      assert(!(await shows(page, "DE")));
      const [single, several] = nodesOf(page.tree().root).filter(({ role }) => /combobox|listbox/.test(role));
      equal([single.value, single.options, several.value], [null, [{ value: "1", label: "Public" }], ["a"]]);
      equal(await stateOf(page), { m: ["a"] });
      const { code, error } = await page.set("#t", "DE5678");
      equal([code, error], ["OptionNotFound", '"DE5678" is not an option: choose one of "Public"']);
      equal((await page.set("#t", "Public")).readBack, { expected: "Public", actual: "Public", matches: true });
    },
  ),
  "texts outside of the root are shown nowhere": withPage("<p id='o'>Outer text</p><label for='i'>Outer label</label><div id='r'><input id='i' aria-describedby='o'><button aria-labelledby='o'>Own</button><a href='/x' aria-labelledby='o' title='Title'></a></div>", async (page) => {
    const inner = new page.driver.constructor({ root: page.$("#r") });
    const names = () => JSON.stringify(treeAtOnce(inner, { limit: 99 }));
    assert(!names().includes("Outer"), names());
    const nodes = nodesOf(treeAtOnce(inner, { limit: 99 }).root);
    equal(nodes.map(({ name }) => name), [null, null, "Own", "Title"]);
    const [, field, button] = nodes;
    assert(!JSON.stringify(treeAtOnce(inner, { limit: 99, within: field.ref })).includes("Outer"));
    equal([inner.inspect(field.ref, { type: "hover" }).label, inner.inspect(button.ref, { type: "hover" }).label], ["textbox", 'button "Own"']);
    inner.dispose();
  }),
  "invalid fields outside of the root are not named": withPage("<form><input required aria-label='Outer'><div id='r'><input required aria-label='Inner'><button>Send</button></div></form>", async (page) => {
    const inner = new page.driver.constructor({ root: page.$("#r") });
    inner.beginAction({ type: "hover" });
    page.$("form").requestSubmit();
    const [{ content }] = inner.endAction().messages;
    assert(content.startsWith('textbox "Inner"') && !content.includes("Outer"), content);
    inner.dispose();
  }),
  "fields with the names of a form's members are read and used": withPage(
    `<div tabindex="0"><form id="login" name="login" aria-label="Login">${["id", "name", "action", "method", "title", "target", "elements", "children", "role", "labels", "hidden", "style", "className", "querySelector", "getRootNode", "checkVisibility", "childNodes", "nodeType", "matches", "localName", "isConnected", "closest", "contains", "firstChild", "previousSibling", "textContent", "getBoundingClientRect", "getClientRects", "tabIndex", "onclick", "nodeName"].map((name) => `<label>${name} <input name="${name}" value="v"></label>`).join("")}<button type="button">Go</button></form></div>`,
    async (page) => {
      const [form] = nodesOf(page.tree().root).filter(({ role }) => role === "form");
      equal([form.name, form.id, form.children.length], ["Login", "login", 32]);
      assert(form.children.slice(0, -1).every(({ role, name, value }) => role === "textbox" && name && value === "v"));
      equal(Object.keys((await stateOf(page)).login).length, 31);
      equal((await page.set("[name=children]", "new")).readBack.matches, true);
      let clicks = 0;
      page.$("button").addEventListener("click", () => clicks++);
      equal([(await page.click("button")).code, clicks], [undefined, 1]);
      equal(page.inspect("button").label, 'button "Go"');
    },
  ),
  "a form that cannot be read is one node with a note": async () => {
    for (const name of ["parentNode", "assignedSlot", "parentElement", "getAttribute", "hasAttribute", "shadowRoot", "ownerDocument", "tagName", "nextSibling", "nextElementSibling"]) {
      await withPage(
        `<button id="b">Before <form aria-label="F"><input name="${name}" list="none" aria-labelledby="none"><header>x</header></form></button><p id="d">After</p>
         <a href="/x" aria-labelledby="i" aria-describedby="i">Link</a><form><div><input name="ok"></div><input id="i" name="${name}" aria-labelledby="d"></form>`,
        async (page) => {
          const text = `  - text: This form cannot be read: it has a field with the name "${name}".`;
          const inside = page.lines();
          equal(inside, ['- button "Before x"', '  - form "F"', `  ${text}`, "- paragraph", "  - text: After", '- link "Link"', "- form", text], name);
          equal(await stateOf(page), {});
          equal((await page.click("#b")).code, undefined);
        },
      )();
    }
  },
  "a form that cannot be read is found in shadow roots and frames": withPage(`<x-a></x-a><iframe title="F" srcdoc="<p>x</p>"></iframe>`, async (page) => {
    const frame = page.$("iframe");
    while (frame.contentDocument?.URL !== "about:srcdoc" || frame.contentDocument.readyState !== "complete") await new Promise((resolve) => requestAnimationFrame(resolve));
    const html = `<a href="/x" aria-labelledby="i" aria-describedby="i">Link</a><form><input id="i" name="parentNode" list="none" aria-labelledby="none"></form>`;
    page.$("x-a").attachShadow({ mode: "open" }).innerHTML = frame.contentDocument.body.innerHTML = html;
    equal(await stateOf(page), {});
    equal(page.lines().map((line) => line.trim().slice(0, 20)), ['- link "Link"', "- form", "- text: This form ca", '- iframe "F"', '- link "Link"', "- form", "- text: This form ca"]);
  }),
  "Enter submits a form whose fields hide the form's members, and a cover is found": withPage(
    `<form><input id="t" name="elements"><input name="closest"><input name="querySelector"><button name="submit">Send</button></form>
     <button id="b">Covered</button><form style="position:fixed;inset:0"><input name="parentElement"><b id="c">Cover</b></form>`,
    async (page) => {
      const cover = page.$("form + button + form");
      equal([page.inspect("#b").coveredBy, page.inspect("#t").coveredBy], ["form", "form"]);
      cover.remove();
      let submitter;
      page.$("form").addEventListener("submit", (event) => {
        event.preventDefault();
        submitter = event.submitter.name;
      });
      equal([(await page.press("Enter", "#t")).code, submitter], [undefined, "submit"]);
    },
  ),
  "several checkboxes with one name have the values of the checked ones": withPage(
    `<form name="f"><input type="checkbox" name="c" value="red" checked><input type="checkbox" name="c" value="green"><input type="checkbox" name="c" value="blue" checked>
     <input type="checkbox" name="none" value="1"><input type="checkbox" name="none" value="2"><input type="checkbox" name="one" value="1" checked></form>
     <input type="checkbox" name="c" value="other">`,
    async (page) => equal(await stateOf(page), { f: { c: ["red", "blue"], none: [], one: true }, c: false }),
  ),
  "an area of a picture is a link where its picture is shown": withPage(
    `<img id="p" usemap="#m" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" width="100" height="60" alt="Map"><map name="m"><area id="t" shape="rect" coords="10,10,30,40" href="#berlin" alt="Berlin"><area shape="circle" coords="70,30,10" href="#rome" alt="Rome"></map>
     <map name="unused"><area href="#no" alt="No"></map>`,
    async (page) => {
      equal(page.lines(), ['- img "Map"', '- link "Berlin"', '- link "Rome"']);
      let at;
      page.$("#t").addEventListener("click", (event) => event.preventDefault());
      page.$("#t").addEventListener("pointerdown", ({ clientX, clientY }) => (at = [clientX, clientY]));
      equal([page.inspect("#t").hidden, page.inspect("#t").coveredBy, page.inspect("#t").label], [undefined, undefined, 'link "Berlin"']);
      equal((await page.click("#t")).code, undefined);
      const { left, top } = page.$("#p").getBoundingClientRect();
      equal(at, [left + 20, top + 25]);
      page.$("#p").style.display = "none";
      equal(page.lines(), []);
    },
  ),
  "the titles of pages have no invisible characters": withPage(
    "<a href='/one'>One\u{e0041}\u202e</a><a href='/two' aria-label='Two\ufe00\u200b'>2</a><a href='/three' title='\u2060Three'></a>",
    async (page) => {
      const { title } = document;
      document.title = "Test\u{e0041}s";
      const pages = await page.driver.pages();
      document.title = title;
      equal(pages.map(({ title }) => title), ["Tests", "One", "Two", "Three"]);
    },
  ),
  "empty lines of an editor are part of its value": async () => {
    for (const [html, text] of [
      ["<p>one</p><p><br></p><p>two</p>", "one\n\ntwo"],
      ["<p>one</p><p>two</p>", "one\ntwo"],
      ["<div>one<br></div><div>two&nbsp; <b>bold</b></div>", "one\ntwo  bold"],
      ["one<br><br>two", "one\n\ntwo"],
      ["<pre>one\n\ntwo\n</pre>", "one\n\ntwo"],
      ["<p><span>one\ufeff</span></p><p><span>\ufeff<br></span></p><p hidden>no</p><ul><li>two</li>\n<li>three</li></ul>", "one\n\ntwo\nthree"],
    ]) {
      await withPage(`<div id="t" contenteditable aria-label="E">${html}</div>`, (page) => {
        equal(nodesOf(page.tree().root).find(({ role }) => role === "textbox").value, text);
      })();
    }
    await withPage(`<div id="t" contenteditable></div>`, async (page) => {
      equal((await page.set("#t", "one\n\ntwo")).readBack.matches, true);
      equal(await stateOf(page), { t: "one\n\ntwo" });
    })();
  },
};

/** Page tools in pages whose elements hide members of the document, and whose fields hide members of a form. */

import { assert, equal } from "./assert.js";
import { DOCUMENT_NAMES, FORM_NAMES, KINDS, inChunks, openFrame } from "./clobbered.js";

/** The names with which a document or a form cannot be read, because the library for roles and names needs them. */
const NEEDED_OF_DOCUMENT = ["parentNode", "defaultView", "createRange"];
const NEEDED_OF_FORM = [
  "parentElement", "parentNode", "shadowRoot", "assignedSlot", "nextSibling", "nextElementSibling", "ownerDocument", "getAttribute", "hasAttribute", "tagName",
];

const SECRET = "DE1234";
const FRAME = (body) => `<div id="clobbering"></div>${body}`;
const PAGE = `<div id="clobbering"></div><button id="save">Save</button>
  <p data-mcp-private>${SECRET}</p><input name="private" data-mcp-private value="${SECRET}"><input name="key" type="password" aria-label="Key" value="${SECRET}">
  <iframe id="shown" title="Shown"></iframe><iframe id="private" title="Private" data-mcp-private></iframe>`;
const SHOWN = FRAME(`<button id="save">Save</button><input name="b" data-mcp-private value="${SECRET}">`);
const PRIVATE = FRAME(`<form name="f"><input name="c" value="${SECRET}"></form>`);

const SAVE = '- button "Save"';

/** A page in a frame, with a frame that is shown and one that is private. */
async function openPage() {
  const { frame, view, body } = await openFrame("/page-frame.html", "page");
  const { page } = view;
  page.root.innerHTML = PAGE;
  const bodies = [body, ...["#shown", "#private"].map((id) => page.$(id).contentDocument.body)];
  bodies[1].innerHTML = SHOWN;
  bodies[2].innerHTML = PRIVATE;
  const holders = bodies.map((one) => one.querySelector("#clobbering"));
  const buttons = bodies.slice(0, 2).map((one) => one.querySelector("#save"));
  return { frame, page, buttons, clobber: (html) => holders.forEach((holder) => (holder.innerHTML = html)) };
}

/** Everything that page tools show of a page. */
async function allOf({ driver }) {
  const everything = [driver.tree({ limit: 1000 }), driver.tree({ limit: 1000, everyText: true }), driver.state(), driver.pages()];
  return JSON.stringify(await Promise.all(everything));
}

/** Reads a page with some names, and clicks its buttons. */
async function use({ page, buttons, clobber }, html, names) {
  clobber(html);
  const what = names.join();
  const lines = page.lines().map((line) => line.trim());
  equal(lines.filter((line) => line === SAVE).length, 2, `the buttons with ${what}`);
  assert(!(await allOf(page)).includes(SECRET), `something private is shown with ${what}`);
  for (const button of buttons) {
    let clicks = 0;
    button.onclick = () => clicks++;
    const { code, error } = await page.act({ type: "triggerEvent", event: "onClick" }, button, undefined, { isBrief: true });
    equal([code, error, clicks], [undefined, undefined, 1], `a click with ${what}`);
  }
}

const without = (names, needed) => names.filter((name) => !needed.includes(name));

/** The names of documents in groups, each of which takes seconds. */
const PARTS = [...inChunks(without(DOCUMENT_NAMES, NEEDED_OF_DOCUMENT), 75)];

const ofKinds = ["img", "form", "iframe"].flatMap((kind) =>
  PARTS.map((part, index) => [
    `a page with any name of an element ${kind} is read and used (part ${index + 1} of ${PARTS.length})`,
    async () => {
      const opened = await openPage();
      for (const names of inChunks(part)) await use(opened, names.map(KINDS[kind]).join(""), names);
      opened.frame.remove();
    },
  ]),
);

export default {
  ...Object.fromEntries(ofKinds),

  "a page is read and used whatever the names of its fields are": async () => {
    const opened = await openPage();
    for (const names of inChunks(without(FORM_NAMES, NEEDED_OF_FORM))) {
      await use(opened, `<form aria-label="F">${names.map((name) => `<input name="${name}" aria-label="${name}">`).join("")}<b>End</b></form>`, names);
      const lines = opened.page.lines().map((line) => line.trim());
      equal(lines.filter((line) => line === '- form "F"').length, 2, `the forms with ${names}`);
      assert(lines.includes("- text: End") && !lines.some((line) => line.includes("cannot be read")), lines.join("\n"));
    }
    opened.frame.remove();
  },

  "a page that the library for names cannot read is reported, and not shown": async () => {
    const opened = await openPage();
    for (const [kind, htmlOf] of Object.entries(KINDS)) {
      for (const name of NEEDED_OF_DOCUMENT) {
        opened.clobber(htmlOf(name));
        equal(opened.page.lines(), [`- text: This page cannot be read: it has an element with the name "${name}".`], kind);
        assert(!(await allOf(opened.page)).includes(SECRET), name);
      }
    }
    opened.clobber("");
    equal(opened.page.lines().map((line) => line.trim()).filter((line) => line === SAVE).length, 2);
    opened.frame.remove();
  },

  "a frame that the library for names cannot read is reported, and the page around it is read": async () => {
    const { frame, page } = await openPage();
    const ref = page.ref("#save");
    const inside = page.$("#shown").contentDocument.body;
    inside.querySelector("#clobbering").innerHTML = `<form name="parentNode"></form>`;
    equal(page.lines(), [SAVE, "- private", "- private", '- textbox "Key": "(hidden)"', '- iframe "Shown"', '  - text: This frame cannot be read: it has an element with the name "parentNode".', "- private"]);
    equal(page.driver.inspect(ref, { type: "hover" }).label, 'button "Save"');
    frame.remove();
  },

  "a form that the library for names cannot read is reported": async () => {
    const { frame, page, clobber } = await openPage();
    for (const name of NEEDED_OF_FORM) {
      clobber(`<form aria-label="F"><b>End</b><input name="${name}"></form>`);
      const lines = page.lines();
      equal([lines[0], lines[1].trim(), lines[2]], ['- form "F"', `- text: This form cannot be read: it has a field with the name "${name}".`, SAVE]);
    }
    frame.remove();
  },

  "a field before its form does not make names circular": async () => {
    const { frame, page, clobber } = await openPage();
    clobber(`<button><input form="f" name="nextSibling"><form id="f"></form>Go</button>`);
    assert(page.lines()[0].startsWith('- button "Go"'), page.lines()[0]);
    clobber(`<fieldset><input form="f" name="nextElementSibling"><form id="f"></form></fieldset>`);
    assert(page.lines().includes(SAVE));
    frame.remove();
  },

  "a value that a script has set is not an element": async () => {
    const { frame, page } = await openPage();
    const { contentDocument } = frame;
    for (const name of NEEDED_OF_DOCUMENT) Object.defineProperty(contentDocument, name, { configurable: true, writable: true, value: contentDocument[name] });
    assert(page.lines().includes(SAVE));
    frame.remove();
  },

  "a form that is the window of the document does not freeze the tab": async () => {
    const { frame, page, clobber } = await openPage();
    clobber(`<form name="defaultView"><input name="frameElement"></form>`);
    equal(page.lines().length, 1);
    equal((await page.driver.state()).state, {});
    frame.remove();
  },

  "a picture in a private frame does not make its fields readable": async () => {
    const { frame, page } = await openPage();
    page.$("#private").contentDocument.body.insertAdjacentHTML("beforeend", `<img name="defaultView" alt="">`);
    assert(page.lines().includes(SAVE));
    assert(!(await allOf(page)).includes(SECRET));
    frame.remove();
  },
};

/** The page as a tree of roles, names and states. */

import { assert, equal } from "./assert.js";
import { nodesOf, withPage } from "./page-fixture.js";

/** A test of the lines of some HTML. */
const lines = (html, expected, before) =>
  withPage(html, async (page) => {
    await before?.(page);
    equal(page.lines(), expected, "the tree");
  });

const FORM = `<h2>New order</h2>
  <form aria-label="Order">
    <label>Customer <input required aria-invalid="true" aria-errormessage="e"></label><span id="e">This field is required</span>
    <label>Quantity <input type="number" value="1"></label>
    <label>Country <select><option value="de">Germany<option value="fr" selected>France</select></label>
    <fieldset role="radiogroup"><legend>Shipping</legend>
      <label><input type="radio" name="s" checked>Standard</label> <label><input type="radio" name="s">Express</label></fieldset>
    <label>Note <textarea>first line
second line</textarea></label>
    <label>Secret <input type="password" value="abc"></label>
    <button disabled>Save</button>
  </form>`;

export default {
  "a form consists of its controls, and their labels are written once": lines(FORM, [
    '- heading "New order" [level=2]',
    '- form "Order"',
    '  - textbox "Customer" [required] [error="This field is required"]: ""',
    "  - text: This field is required",
    '  - spinbutton "Quantity": "1"',
    '  - combobox "Country": "France"',
    '  - radiogroup "Shipping"',
    '    - radio "Standard" [checked]',
    '    - radio "Express"',
    '  - textbox "Note": "first line\\nsecond line"',
    '  - textbox "Secret": "(hidden)"',
    '  - button "Save" [disabled]',
  ]),
  "options are values and labels": withPage(FORM, (page) => {
    const [node] = nodesOf(page.tree().root).filter(({ role }) => role === "combobox");
    equal(node.options, [{ value: "de", label: "Germany" }, { value: "fr", label: "France" }]);
  }),
  "a table is rows of cells, and controls in cells": lines(
    `<table><caption>Lines</caption><thead><tr><th scope="col">Article<th scope="col">Pieces<th></tr></thead>
     <tbody><tr><td>bolt<td>3<td><button>Remove</button></tr></tbody></table>
     <div role="grid" aria-label="Prices" aria-rowcount="40"><div role="row"><div role="gridcell">1</div></div></div>`,
    [
      '- table "Lines" [rows=2 of 2]',
      "  - row",
      "    - columnheader",
      "      - text: Article",
      "    - columnheader",
      "      - text: Pieces",
      "    - cell",
      "  - row",
      "    - cell",
      "      - text: bolt",
      "    - cell",
      "      - text: 3",
      "    - cell",
      '      - button "Remove"',
      '- grid "Prices" [rows=1 of 40]',
      "  - row",
      "    - gridcell",
      "      - text: 1",
    ],
  ),
  "a generic element is replaced by its content, text is joined across inline elements, and a block ends it": lines(
    "<div><div>One <b>two</b> <em>three</em>,\n four<div>five</div>six<br>seven</div><p>A <a href='/x'>link</a> here</p></div><img src='data:,'><img alt='Logo' src='data:,'><pre>a\n  b</pre>",
    ["- text: One two three, four", "- text: five", "- text: six seven", "- paragraph", "  - text: A", '  - link "link"', "  - text: here", '- img "Logo"', "- text: a\n  b"],
  ),
  "hidden elements are left out": lines(
    `<div style="display:none"><button>1</button></div><div style="visibility:hidden"><button>2</button><button style="visibility:visible">seen</button></div>
     <div aria-hidden="true"><button>3</button></div><div inert><button>4</button></div>
     <div style="height:0;overflow:hidden"><button>5</button></div><div style="height:0"><button>overflows</button></div>
     <details><summary>More</summary><button>6</button></details><div hidden="until-found"><button>7</button></div>
     <template><button>8</button></template><div style="display:contents"><button>contents</button></div><div hidden><button>9</button></div>
     <div data-mcp-private><input value="secret"></div><script>10</` + "script><style>a{}</style>",
    ['- button "seen"', '- button "overflows"', '- button "More" [collapsed]', '- button "contents"', "- private"],
  ),
  "private content is in no name, no description and no value": lines(
    `<a href="/x">Account <span data-mcp-private>DE1234</span></a><label>IBAN <b data-mcp-private>DE1234</b> <input aria-describedby="d"></label>
     <p id="d" data-mcp-private>DE1234</p><div role="combobox" aria-label="City" tabindex="0"><span data-mcp-private>DE1234</span></div>
     <div tabindex="0" aria-labelledby="d" role="group">x</div>`,
    [
      '- link "Account"', "  - private", "- private", '- textbox "IBAN": ""', "- private", '- combobox "City"', "  - private", "- group", "  - text: x",
    ],
  ),
  "open shadow roots, slots in their order, and no content without a slot": lines(
    "<x-card><b slot='end'>last</b>first<i slot='none'>lost</i></x-card>",
    ["- button \"Shadow\"", "- text: first", "- text: last", "- text: fallback"],
    (page) => {
      const root = page.$("x-card").attachShadow({ mode: "open" });
      root.innerHTML = "<button>Shadow</button><p role='none'><slot></slot></p><div><slot name='end'></slot></div><div><slot name='other'>fallback</slot></div>";
    },
  ),
  "frames of the same origin are read, and others are named": withPage(
    `<iframe title="Inner" srcdoc="<button>In the frame</button>"></iframe><iframe title="Foreign" sandbox srcdoc="<button>no</button>"></iframe>`,
    async (page) => {
      await loaded(page);
      equal(page.lines(), ['- iframe "Inner"', '  - button "In the frame"', '- iframe "Foreign" [foreign]']);
      const ref = nodesOf(page.tree().root).find(({ name }) => name === "In the frame").ref;
      assert(page.driver.element(ref).ownerDocument !== document);
    },
  ),
  "only an open modal is shown": async () => {
    await lines("<button>behind</button><dialog>Sure? <button>Yes</button></dialog>", ["- dialog", "  - text: Sure?", '  - button "Yes"'], (page) => page.$("dialog").showModal())();
    await lines("<button>behind</button><dialog open>Not modal</dialog>", ['- button "behind"', "- dialog", "  - text: Not modal"])();
    await lines(
      `<button>behind</button><div><div role="dialog" aria-modal="true" aria-label="Box"><button>In</button></div><button>beside</button></div>`,
      ['- dialog "Box"', '  - button "In"'],
    )();
  },
  "a list of options in front of a modal is shown": lines(
    `<button>behind</button><div role="dialog" aria-modal="true" aria-label="Box" style="position:fixed;inset:0;background:#fff"><button>In</button></div>
     <div><ul role="listbox" style="position:fixed;top:9px;left:9px;width:99px;z-index:9"><li role="option" aria-selected="true">One</li></ul></div>
     <div style="position:absolute;top:50px">covered</div>`,
    ['- dialog "Box"', '  - button "In"', "- listbox", '  - option "One" [selected]'],
    (page) => (page.$("div[style*=absolute]").style.zIndex = -1),
  ),
  "controls have a handle, and their events are listed if the role does not imply them": withPage(
    `<div style="cursor:pointer"><span>Card</span></div><div id="a" onclick="1">With a handler</div><div tabindex="0">Focusable</div>
     <div id="s" style="height:20px;overflow:auto"><p style="height:90px">Long</p></div><p>Text</p><li draggable="true">Item</li>
     <label style="cursor:pointer">Name <input></label><label id="l"><input type="checkbox" style="display:none">Custom</label>`,
    (page) => {
      page.$("#l").style.cursor = "pointer";
      const nodes = nodesOf(page.tree().root).filter(({ ref }) => ref);
      equal(nodes.map(({ role, events = [] }) => [role, ...events]), [["generic", "onClick"], ["generic", "onClick"], ["generic"], ["generic"], ["listitem"], ["textbox"], ["generic", "onClick"]]);
    },
  ),
  "states of widgets": lines(
    `<button aria-pressed="true">P</button><button aria-expanded="false">E</button><div role="tab" aria-selected="true" tabindex="0">T</div>
     <input type="checkbox" aria-label="M"><div role="switch" aria-checked="true" tabindex="0">S</div><input readonly aria-label="R" value="x">
     <div role="slider" aria-label="V" aria-valuenow="3" tabindex="0"></div><div role="treeitem" aria-level="2" tabindex="0">I</div>
     <fieldset disabled><input aria-label="D"></fieldset><input aria-label="A" aria-describedby="d"><span id="d">Help</span>
     <div contenteditable aria-label="C"><p>one</p><p>two</p></div><select multiple aria-label="L"><option selected>a<option selected>b</select>`,
    [
      '- button "P" [pressed]', '- button "E" [collapsed]', '- tab "T" [selected]', '- checkbox "M" [mixed]', '- switch "S" [checked]',
      '- textbox "R" [readonly]: "x"', '- slider "V": "3"', '- treeitem "I" [level=2]', '- textbox "D" [disabled]: ""',
      '- textbox "A" [description="Help"]: ""', "- text: Help", '- textbox "C": "one\\ntwo"', '- listbox "L": ["a","b"]',
    ],
    (page) => (page.$("[aria-label=M]").indeterminate = true),
  ),
  "the focused element is known": withPage("<button>One</button><button id='f'>Two</button>", (page) => {
    page.$("#f").focus();
    equal(nodesOf(page.tree().root).filter(({ states }) => states?.includes("focused")).map(({ name }) => name), ["Two"]);
  }),
  "elements beyond the limit are counted, and can be requested": withPage(
    `<ul aria-label="List">${"<li><a href='/x'>Link</a></li>".repeat(30)}</ul><button>Last</button>`,
    (page) => {
      const tree = page.tree({ limit: 11 });
      equal([tree.elements, tree.shown], [62, 11]);
      const [list] = tree.root.children;
      assert(list.ref && list.name === "List");
      const inside = page.tree({ limit: 200, within: list.ref });
      equal([inside.root.name, inside.elements, inside.shown], ["List", 61, 61]);
    },
  ),
  "only controls and their ancestors": withPage(FORM + "<p>Text <b>more</b></p>", (page) => {
    const tree = page.tree({ interactive: true });
    assert(!nodesOf(tree.root).some(({ role }) => role === "text" || role === "heading" || role === "paragraph"));
    equal(nodesOf(tree.root).filter(({ ref }) => ref).length, 8);
    equal(tree.elements, tree.shown);
  }),
  "within a handle that is gone is stale": withPage("<button>One</button>", (page) => {
    const ref = page.ref("button");
    page.$("button").remove();
    let code;
    try {
      page.tree({ within: ref });
    } catch (error) {
      code = error.code;
    }
    equal(code, "TargetStale");
  }),
  "500 nested shadow roots and 1 MiB of text": withPage("<div></div>", (page) => {
    let inner = page.$("div");
    for (let depth = 0; depth < 500; depth++) inner = inner.attachShadow({ mode: "open" }).appendChild(document.createElement("div"));
    inner.innerHTML = "<button>Deep</button>";
    page.root.append("x".repeat(1024 * 1024));
    const [button, text] = page.tree().root.children;
    equal([button.name, text.text.length], ["Deep", 1024 * 1024]);
  }),
  "a large page is read in parts, between which the page runs": withPage("", async (page) => {
    page.root.innerHTML = Array.from({ length: 20_000 }, (_, index) => `<button>Button ${index}</button>`).join("");
    const looking = page.driver.tree({ limit: 20_000 });
    assert(looking instanceof Promise, "it was looked at in one part");
    // Changes by the page meanwhile neither hide nor duplicate the unchanged elements.
    page.root.firstElementChild.remove();
    page.root.append("End");
    const { root, elements } = await looking;
    equal([elements, new Set(nodesOf(root).map(({ ref }) => ref)).size], [20_000, 20_001]);
  }),
  "10,001 elements are counted": withPage("", (page) => {
    page.root.innerHTML = Array.from({ length: 1667 }, (_, index) => `<div><label>Field ${index} <input value="${index}"></label><button>Save ${index}</button><p>Text <a href="/x">link</a></p></div>`).join("");
    page.root.append(document.createElement("hr"));
    equal(page.tree().elements, 1667 * 4);
  }),
};

/** Waits until the frames of the same origin have their documents. */
async function loaded(page) {
  const isLoaded = (frame) => frame.hasAttribute("sandbox") || (frame.contentDocument?.URL === "about:srcdoc" && frame.contentDocument.readyState === "complete");
  while (![...page.root.querySelectorAll("iframe")].every(isLoaded)) await new Promise((resolve) => requestAnimationFrame(resolve));
}

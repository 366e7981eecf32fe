/** Keys, and the browser's default actions for those that the page does not cancel. */

import { assert, equal } from "./assert.js";
import { eventsOf, withPage } from "./page-fixture.js";

export default {
  "a character is typed at the caret, with its events": withPage("<input id='t' value='ac'>", async (page) => {
    const input = page.$("#t");
    const events = eventsOf(input, ["keydown", "keypress", "beforeinput", "input", "keyup"]);
    let fields;
    input.addEventListener("keydown", (event) => (fields = [event.key, event.code, event.keyCode]));
    input.focus();
    input.setSelectionRange(1, 1);
    await page.press("b", "#t");
    equal([input.value, input.selectionStart, events, fields], ["abc", 2, ["keydown", "keypress", "beforeinput", "input", "keyup"], ["b", "KeyB", 66]]);
    await page.press("Backspace");
    await page.press("Delete");
    await page.press("Home");
    await page.press("x");
    equal(input.value, "xa");
    await page.press("a", undefined, ["Control"]);
    await page.press("y");
    equal(input.value, "y");
  }),
  "a key that the page cancels does nothing": withPage("<input id='t'>", async (page) => {
    page.$("#t").addEventListener("keydown", (event) => event.preventDefault());
    await page.press("b", "#t");
    equal(page.$("#t").value, "");
  }),
  "fields without a caret, lines, and editable elements": withPage("<input id='n' type='number'><textarea id='a'></textarea><div id='e' contenteditable aria-label='E'></div>", async (page) => {
    await page.press("4", "#n");
    await page.press("2", "#n");
    await page.press("ArrowUp", "#n");
    for (const key of ["a", "Enter", "b"]) await page.press(key, "#a");
    for (const key of ["a", "b", "Backspace"]) await page.press(key, "#e");
    equal([page.$("#n").value, page.$("#a").value, page.$("#e").textContent], ["43", "a\nb", "a"]);
  }),
  "Enter follows a link of an SVG": withPage("<svg><a href='#svg-link' id='t' aria-label='T'><rect width='40' height='40'/></a></svg>", async (page) => {
    await page.press("Enter", "#t");
    equal(location.hash, "#svg-link");
    history.replaceState(null, "", location.pathname + location.search);
  }),
  "a number is typed key by key": async () => {
    for (const [keys, expected] of [["1 . 5", "1.5"], ["- 2", "-2"], ["1 e 3", "1e3"], ["1 2 x , 3", "123"], ["1 . Backspace 2", "12"], ["1 2 ArrowLeft 3", "132"], ["1 2 Home Delete", "2"], ["1 2 Control+a 9", "9"], ["1 2 Control+a Backspace", ""]]) {
      await withPage("<input id='t' type='number' step='any'>", async (page) => {
        const values = [];
        page.$("#t").addEventListener("input", () => values.push(page.$("#t").value));
        for (const key of keys.split(" ")) await page.press(key, "#t");
        equal(page.$("#t").value, expected, `${keys} (${values})`);
      })();
    }
  },
  "a number that the page sets during typing, and one typed after the focus has moved": withPage("<input id='t' type='number' step='any'><input id='u'>", async (page) => {
    for (const key of ["1", "."]) await page.press(key, "#t");
    page.$("#t").value = "7";
    await page.press("5", "#t");
    equal(page.$("#t").value, "75");
    await page.press("a", "#t", ["Control"]);
    await page.press("x", "#u");
    await page.press("5", "#t");
    equal(page.$("#t").value, "755");
  }),
  "an email field also has a caret": withPage("<input id='t' type='email' value='b@c'>", async (page) => {
    for (const key of ["Home", "a", "End", "d", "Backspace", "e"]) await page.press(key, "#t");
    equal(page.$("#t").value, "ab@ce");
    for (const key of ["Control+A", "x"]) await page.press(key, "#t");
    equal(page.$("#t").value, "x");
  }),
  "Delete removes one character": withPage("<input id='t' value='abc'>", async (page) => {
    for (const key of ["Home", "Delete"]) await page.press(key, "#t");
    equal(page.$("#t").value, "bc");
  }),
  "keys have their common names, and modifiers": withPage("<input id='t'>", async (page) => {
    const keys = [];
    page.$("#t").addEventListener("keydown", (event) => {
      event.preventDefault();
      keys.push([event.key, event.ctrlKey && "c", event.shiftKey && "s", event.metaKey && "m"].filter(Boolean).join(" "));
    });
    for (const key of ["Space", "Return", "ESC", "Del", "up", "Ctrl", "F12", "pagedown", "KeyB", "+", "Control+A", "ctrl+shift+k", "Cmd++", "Shift+Tab"]) await page.press(key, "#t");
    equal(keys, [" ", "Enter", "Escape", "Delete", "ArrowUp", "Control", "F12", "PageDown", "b", "+", "a c", "K c s", "+ m", "Tab s"]);
    for (const key of ["Foo", "F25", "abc", "a+b", "Foo+a", "", "constructor"]) {
      const { code, error } = await page.press(key, "#t");
      assert(code === "ActionFailed" && /is not a key.*setValue/.test(error), `${key}: ${error}`);
    }
  }),
  "a field accepts no more than its length, and nothing when it is read-only": withPage("<input id='t' maxlength='1' value='a'><input id='r' readonly value='a'>", async (page) => {
    await page.press("b", "#t");
    await page.press("b", "#r");
    equal([page.$("#t").value, page.$("#r").value], ["a", "a"]);
  }),
  "Enter submits by the form's button, and activates links and buttons": withPage("<form><input id='t'><button name='b' value='1'>Send</button></form><a href='#k'>Go</a>", async (page) => {
    const submitters = [];
    page.$("form").addEventListener("submit", (event) => (event.preventDefault(), submitters.push(event.submitter?.name)));
    await page.press("Enter", "#t");
    await page.press("Enter", "button");
    await page.press("Enter", "a");
    equal([submitters, location.hash], [["b", "b"], "#k"]);
    history.replaceState(null, "", location.pathname + location.search);
  }),
  "Enter in the only field of a form without a button submits it": withPage("<form><input id='t'></form><form><input id='u'><input></form>", async (page) => {
    let submitted = 0;
    page.root.addEventListener("submit", (event) => (event.preventDefault(), submitted++));
    await page.press("Enter", "#t");
    await page.press("Enter", "#u");
    equal(submitted, 1);
  }),
  "Space checks and activates": withPage("<input id='t' type='checkbox'><button id='b'>x</button>", async (page) => {
    const clicks = eventsOf(page.$("#b"), ["click"]);
    await page.press(" ", "#t");
    await page.press(" ", "#b");
    equal([page.$("#t").checked, clicks], [true, ["click"]]);
  }),
  "Tab moves the focus in its order, also into shadow roots, and back": withPage("<input id='a'><x-t></x-t><input id='r' type='radio' name='r'><input type='radio' name='r' checked id='s'><button disabled>x</button><div tabindex='-1'>y</div><input id='z'>", async (page) => {
    page.$("x-t").attachShadow({ mode: "open" }).innerHTML = "<button>S</button>";
    const visited = [];
    page.$("#a").focus();
    for (let index = 0; index < 3; index++) {
      await page.press("Tab");
      visited.push(document.activeElement.id || document.activeElement.shadowRoot?.activeElement.localName);
    }
    await page.press("Tab", undefined, ["Shift"]);
    equal([visited, document.activeElement.id], [["button", "s", "z"], "s"]);
  }),
  "arrows move in radio buttons, selects and ranges": withPage("<input id='a' type='radio' name='r' checked><input id='b' type='radio' name='r'><select id='s'><option>a<option disabled>b<option>c</select><input id='g' type='range' value='5' max='10'>", async (page) => {
    const changes = eventsOf(page.root, ["change"]);
    await page.press("ArrowDown", "#a");
    await page.press("ArrowDown", "#s");
    await page.press("ArrowLeft", "#g");
    equal([page.$("#b").checked, page.$("#s").value, page.$("#g").value, changes.length], [true, "c", "4", 3]);
  }),
  "Escape closes a modal, unless it is cancelled": withPage("<dialog>x</dialog>", async (page) => {
    const dialog = page.$("dialog");
    dialog.showModal();
    dialog.addEventListener("cancel", (event) => event.preventDefault(), { once: true });
    await page.press("Escape");
    const wasOpen = dialog.open;
    await page.press("Escape");
    equal([wasOpen, dialog.open], [true, false]);
  }),
  "an invalid key is refused": withPage("<input id='t'>", async (page) => {
    const { code, error } = await page.press("left arrow", "#t");
    assert(code === "ActionFailed" && /KeyboardEvent\.key/.test(error), error);
  }),
};

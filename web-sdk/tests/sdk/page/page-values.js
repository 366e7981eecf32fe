/** Values of controls: how they are set, read back, and read as the page's state. */

import { assert, equal } from "./assert.js";
import { eventsOf, withPage } from "./page-fixture.js";

/** A test of a value: what is set, and what the page has then. */
const value = (html, given, expected, before) =>
  withPage(html, async (page) => {
    await before?.(page);
    const { code, error, readBack } = await page.set("#t", given);
    equal([code, readBack?.matches], [undefined, true], error ?? `the value read back (${JSON.stringify(readBack)})`);
    if (expected !== undefined) equal(page.$("#t").value, expected);
  });

/** A test of a value that is refused. */
const refused = (html, given, expected, message) =>
  withPage(html, async (page) => {
    const { code, error } = await page.set("#t", given);
    equal(code, expected);
    assert(message.test(error), error);
  });

/** What React does with an input: it puts a property over the element's, and compares with what that has seen. */
function trackLikeReact(input, name, onChange) {
  const { get, set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), name);
  let seen = String(input[name]);
  Object.defineProperty(input, name, {
    configurable: true,
    get() {
      return get.call(this);
    },
    set(next) {
      seen = String(next);
      set.call(this, next);
    },
  });
  for (const type of name === "checked" ? ["click"] : ["input", "change"]) {
    input.addEventListener(type, () => {
      const now = String(get.call(input));
      if (now !== seen) onChange((seen = now));
    });
  }
}

const SELECT = "<select id='t'><option value='de'>Germany<option value='fr'>France<option value='xx' disabled>Nowhere</select>";

export default {
  "a text, with the events that come with it": withPage("<input id='t'>", async (page) => {
    const events = eventsOf(page.$("#t"), ["focus", "beforeinput", "input", "change"]);
    const { readBack, changed } = await page.set("#t", "Acme");
    equal([events, readBack], [["focus", "beforeinput", "input", "change"], { expected: "Acme", actual: "Acme", matches: true }]);
    equal(changed, [page.ref("#t")]);
  }),
  "an input that React controls": withPage("<input id='t'>", async (page) => {
    const seen = [];
    trackLikeReact(page.$("#t"), "value", (next) => seen.push(next));
    await page.set("#t", "Acme");
    equal([page.$("#t").value, seen], ["Acme", ["Acme"]]);
  }),
  "a checkbox that React controls": withPage("<input id='t' type='checkbox'>", async (page) => {
    const seen = [];
    trackLikeReact(page.$("#t"), "checked", (next) => seen.push(next));
    const { readBack } = await page.set("#t", true);
    equal([page.$("#t").checked, seen, readBack.matches], [true, ["true"], true]);
    await page.set("#t", true);
    equal(page.$("#t").checked, true);
  }),
  "a page that sets another value is seen": withPage("<input id='t'>", async (page) => {
    page.$("#t").addEventListener("input", () => (page.$("#t").value = page.$("#t").value.toUpperCase()));
    const { readBack } = await page.set("#t", "acme");
    equal(readBack, { expected: "acme", actual: "ACME", matches: false });
  }),
  "a value that beforeinput cancels is not set": withPage("<input id='t' value='old'>", async (page) => {
    page.$("#t").addEventListener("beforeinput", (event) => event.preventDefault());
    const { readBack } = await page.set("#t", "new");
    equal(readBack.actual, "old");
  }),
  "a number": value("<input id='t' type='number'>", 12.5, "12.5"),
  "a number that is none": withPage("<input id='t' type='number'>", async (page) => {
    equal((await page.set("#t", "many")).readBack, { expected: "many", actual: "", matches: false });
  }),
  "a date": value("<input id='t' type='date'>", "2026-11-26", "2026-11-26"),
  "a time": value("<input id='t' type='time'>", "09:30:00"),
  "a colour": value("<input id='t' type='color'>", "#FF8800", "#ff8800"),
  "a range": value("<input id='t' type='range' max='10'>", 7, "7"),
  "lines": value("<textarea id='t'></textarea>", "a\r\nb", "a\nb"),
  "nothing": value("<input id='t' value='x'>", null, ""),
  "a text that is too long": refused("<input id='t' maxlength='3'>", "abcd", "ValueRefused", /3 characters/),
  "an object": refused("<input id='t'>", { a: 1 }, "ValueRefused", /text or a number/),
  "an option by its label": value(SELECT, "France", "fr"),
  "an option by its label in other letters": value(SELECT, " france ", "fr"),
  "an option by its value": value(SELECT, "fr", "fr"),
  "an option that is none": refused(SELECT, "Spain", "OptionNotFound", /"Germany", "France"/),
  "an option that is disabled": refused(SELECT, "Nowhere", "OptionNotFound", /is disabled/),
  "two options where one is taken": refused(SELECT, ["de", "fr"], "ValueRefused", /one option/),
  "several options": withPage("<select id='t' multiple><option>a<option selected>b<option>c</select>", async (page) => {
    const events = eventsOf(page.$("#t"), ["input", "change"]);
    const { readBack } = await page.set("#t", ["c", "a"]);
    equal([[...page.$("#t").selectedOptions].map(({ text }) => text), readBack.matches, events], [["a", "c"], true, ["input", "change"]]);
    equal((await page.set("#t", [])).readBack.matches, true);
    equal(page.$("#t").selectedOptions.length, 0);
  }),
  "a label takes the value of its control": withPage("<label id='l'>Name <input id='t'></label>", async (page) => {
    await page.set("#t", "x");
    equal(page.$("#t").value, "x");
  }),
  "a checkbox in a label, and a switch of ARIA": withPage("<label><input id='t' type='checkbox'> Yes</label><div id='s' role='switch' aria-checked='false' tabindex='0'>Dark</div>", async (page) => {
    page.$("#s").addEventListener("click", () => page.$("#s").setAttribute("aria-checked", "true"));
    equal([(await page.set("#t", true)).readBack.matches, (await page.set("#s", true)).readBack.matches], [true, true]);
    equal((await page.set("#s", "maybe")).code, "ValueRefused");
  }),
  "radio buttons": withPage("<input id='a' type='radio' name='r' checked aria-label='A'><input id='t' type='radio' name='r' aria-label='T'>", async (page) => {
    equal([(await page.set("#t", true)).readBack.matches, page.$("#a").checked], [true, false]);
    equal((await page.set("#t", false)).code, "ValueRefused");
  }),
  "an editable element, in lines": withPage("<div id='t' contenteditable aria-label='Note'>old <b>text</b></div>", async (page) => {
    const events = eventsOf(page.$("#t"), ["beforeinput", "input"]);
    const { readBack } = await page.set("#t", "one\ntwo");
    equal([readBack.matches, page.$("#t").innerText.replace(/\n+/g, "\n").trim()], [true, "one\ntwo"]);
    assert(events.includes("beforeinput") && events.includes("input"));
    equal((await page.set("#t", "")).readBack.actual, "");
  }),
  "an editor that takes the text itself": withPage("<div id='t' contenteditable aria-label='Note'></div>", async (page) => {
    page.$("#t").addEventListener("beforeinput", (event) => {
      event.preventDefault();
      page.$("#t").textContent += event.data ?? "";
    });
    equal((await page.set("#t", "text")).readBack.matches, true);
  }),
  "files": withPage("<input id='t' type='file' multiple aria-label='Files'>", async (page) => {
    const changes = eventsOf(page.$("#t"), ["change"]);
    const { readBack } = await page.set("#t", [{ name: "a.txt", mimeType: "text/plain", text: "Hello" }, { name: "b.bin", base64: btoa("\0\x01") }]);
    const [first, second] = page.$("#t").files;
    equal([await first.text(), first.type, second.size, readBack.actual, changes], ["Hello", "text/plain", 2, "a.txt, b.bin", ["change"]]);
    equal(page.lines(), ['- button "Files": ["a.txt","b.bin"]']);
    equal((await page.click("#t")).code, "ActionUnsupported");
    equal((await page.set("#t", [])).code, undefined);
  }),
  "5 MiB of files": withPage("<input id='t' type='file'>", async (page) => {
    const file = (size) => ({ name: "a", text: "x".repeat(size) });
    equal((await page.set("#t", file(5 * 1024 * 1024))).code, undefined);
    equal((await page.set("#t", file(5 * 1024 * 1024 + 1))).code, "ValueRefused");
  }),
  "what is no file": refused("<input id='t' type='file'>", { name: "a", base64: "%" }, "ValueRefused", /base64/),
  "two files where one is taken": refused("<input id='t' type='file'>", [{ name: "a", text: "" }, { name: "b", text: "" }], "ValueRefused", /one file/),
  "an element that takes no value": refused("<div id='t' role='button' tabindex='0'>x</div>", "x", "NotEditable", /triggerEvent onClick/),
  "the field inside a combobox": withPage("<div id='t' role='combobox' tabindex='0' aria-expanded='false'><input aria-label='Inner'></div>", async (page) => {
    equal([(await page.set("#t", "x")).readBack.matches, page.$("input").value], [true, "x"]);
  }),
  "a password is set and not read": withPage("<input id='t' type='password' name='p'>", async (page) => {
    equal((await page.set("#t", "secret")).readBack, { expected: "(hidden)", actual: "(hidden)", matches: true });
    equal((await page.driver.state()).state, { p: "(hidden)" });
  }),
  "the state of a page is its fields": withPage(
    `<form name="order"><input name="customer" value="Acme"><input name="token" type="hidden" value="t"><select name="land"><option value="de" selected>Germany</select>
     <input type="radio" name="r" value="1"><input type="radio" name="r" value="2" checked><input type="checkbox" name="c" checked><div data-mcp-private><input name="iban" value="x"></div></form>
     <input id="alone" value="y"><input name="__proto__" value="z"><input name="n" value="1"><input name="n" value="2">`,
    async (page) => {
      const { state, truncated } = await page.driver.state();
      equal([state.order, state.alone, state.n, Object.keys(state), truncated], [{ customer: "Acme", land: "de", r: "2", c: true }, "y", ["1", "2"], ["order", "alone", "__proto__", "n"], undefined]);
    },
  ),
  "a state that is too large is cut, and says so": async () => {
    const exact = "x".repeat(256 * 1024 - '{"a":""}'.length);
    for (const [a, truncated, keys] of [[exact, undefined, ["a"]], [`${exact}x`, true, []]]) {
      await withPage("<p>x</p>", async (page) => {
        const state = await page.driver.state();
        equal([state.truncated, Object.keys(state.state)], [truncated, keys]);
      }, { state: () => ({ a }), global: () => null })();
    }
  },
  "a long value of the state is cut to its limit": async () => {
    for (const [length, cut] of [[10, false], [11, true]]) {
      await withPage("<input name='a'>", async (page) => {
        page.$("input").value = "x".repeat(length);
        const { a } = (await page.driver.state()).state;
        equal(a, cut ? "xxxxxxxxxx… (of 11 characters)" : "x".repeat(10));
      }, { limits: { maxValueBytes: 10 } })();
    }
  },
};

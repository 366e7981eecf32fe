/** Values of controls: how they are set, read back, and read as the page's state. */

import { assert, equal } from "./assert.js";
import { eventsOf, withPage } from "./page-fixture.js";

/** A test of a value: the value to set, and the resulting value of the page. */
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

/**
 * Simulates React's handling of an input: it puts a property over the element's, and compares with the value that the
 * property has seen.
 */
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
  "a text, with its events": withPage("<input id='t'>", async (page) => {
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
  "a page that sets another value is detected": withPage("<input id='t'>", async (page) => {
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
  "a value without the format of its field is refused before anything is dispatched": async () => {
    for (const [type, old, given, format] of [
      ["number", "7", "many", /a number such as 1234\.5/], ["number", "7", "1,5", /a number/], ["number", "7", "1,234.5", /a number/], ["range", "7", "x", /a number/], ["range", "7", "", /a number/],
      ["date", "2026-01-01", "27.11.2026", /YYYY-MM-DD, such as 2026-11-27/], ["date", "2026-01-01", "2026-02-30", /a date/], ["time", "10:00", "2 pm", /HH:MM/],
      ["datetime-local", "2026-01-01T10:00", "2026-01-02", /T14:30/], ["month", "2026-01", "November", /YYYY-MM/], ["week", "2026-W01", "48", /W48/], ["color", "#ff0000", "bluish", /#rrggbb/],
    ]) {
      await withPage(`<input id='t' type='${type}' value='${old}'>`, async (page) => {
        const events = eventsOf(page.$("#t"), ["focus", "beforeinput", "input", "change"]);
        const { code, error } = await page.set("#t", given);
        equal([code, page.$("#t").value, events], ["ValueRefused", old, []], `${type} ${given}`);
        assert(format.test(error), error);
      })();
    }
  },
  "a number beyond the limits of its field is left to the page": value("<input id='t' type='number' max='5'>", 7, "7"),
  "a date can be removed": value("<input id='t' type='date' value='2026-01-01'>", "", ""),
  "a date": value("<input id='t' type='date'>", "2026-11-26", "2026-11-26"),
  "a time": value("<input id='t' type='time'>", "09:30:00"),
  "a date and time with a space": value("<input id='t' type='datetime-local'>", "2026-11-26 09:30", "2026-11-26T09:30"),
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
  "an option that is disabled": refused(SELECT, "Nowhere", "OptionNotFound", /"Nowhere" is disabled: choose one of "Germany", "France"$/),
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
  "a label takes the files and the check of a hidden control": withPage(
    "<label id='l' style='cursor: pointer'>Upload <input id='f' type='file' style='display: none'></label><label id='m' style='cursor: pointer'>Agree <input id='c' type='checkbox' style='display: none'></label>",
    async (page) => {
      equal([page.inspect("#l").editable, page.inspect("#m").editable], [true, true]);
      const file = await page.set("#l", { name: "a.txt", text: "x" });
      equal([file.readBack, page.$("#f").files.length], [{ expected: "a.txt", actual: "a.txt", matches: true }, 1]);
      equal([(await page.set("#m", true)).readBack.matches, page.$("#c").checked], [true, true]);
    },
  ),
  "an element that contains one field takes its value": withPage(
    "<div id='d' tabindex='0'>Drop <input type='file' hidden></div><div id='g' tabindex='0'><input id='i'></div><div id='h' tabindex='0'><input><input></div><div id='x' tabindex='0'><input disabled></div>",
    async (page) => {
      equal([page.inspect("#d").editable, page.inspect("#g").editable, page.inspect("#h").editable], [true, true, undefined]);
      equal([(await page.set("#d", { name: "a", text: "" })).readBack.matches, (await page.set("#g", "y")).readBack.matches, page.$("#i").value], [true, true, "y"]);
      equal([(await page.set("#h", "y")).code, page.inspect("#x", { type: "setValue", value: "y" }).disabled, page.inspect("#x").disabled], ["NotEditable", "disabled", undefined]);
    },
  ),
  "a label is as private and as disabled as its control": withPage(
    "<label id='p' style='cursor: pointer'>One <span data-mcp-private><input type='checkbox' style='display: none'></span></label><label id='d' style='cursor: pointer'>Two <input type='checkbox' style='display: none' disabled></label>",
    (page) => equal([page.inspect("#p").private, page.inspect("#d").disabled], [true, "disabled"]),
  ),
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
  "a field that is replaced when it gets the focus": withPage("<p></p>", async (page) => {
    const render = () => {
      page.$("p").innerHTML = "<input id='t' name='n'>";
      page.$("#t").addEventListener("focus", render, { once: true });
    };
    render();
    const { code, readBack } = await page.set("#t", "Acme");
    equal([code, readBack, page.$("#t").value], [undefined, { expected: "Acme", actual: "Acme", matches: true }, "Acme"]);
  }),
  "a field that is removed when it gets the focus": withPage("<input id='t'>", async (page) => {
    page.$("#t").addEventListener("focus", (event) => event.target.remove());
    const { code, error } = await page.set("#t", "Acme");
    assert(code === "TargetStale" && /before its value was set/.test(error), error);
  }),
  "the value of a field that was replaced is read from its successor": async () => {
    // The replacements that the page renders: the field found by its id, its name in its form, its name among several, its
    // label, its position.
    for (const html of [
      "<input id='t'>", "<form><input class='t' name='n'></form>", "<input class='t' name='n' aria-label='A'><input name='n' aria-label='B'>",
      "<label>Name <input class='t'></label><input>", "<input class='t'>", "<select class='t'><option>x<option>Acme</select>", "<div class='t' contenteditable aria-label='N'></div>",
    ]) {
      for (const kept of [true, false]) {
        await withPage(html, async (page) => {
          const target = page.$("#t, .t");
          target.addEventListener("input", () => {
            page.root.innerHTML = html;
            const now = page.$("#t, .t");
            if (kept && now.isContentEditable) now.textContent = "Acme";
            else if (kept) now.value = "Acme";
          });
          const { code, readBack } = await page.set(target, "Acme");
          equal([code, readBack?.matches], [undefined, kept], `${html} ${JSON.stringify(readBack)}`);
        })();
      }
    }
  },
  "a checkbox that a click renders again": withPage("<p><input id='t' type='checkbox'></p>", async (page) => {
    page.$("#t").addEventListener("change", () => (page.$("p").innerHTML = "<input id='t' type='checkbox'>"));
    equal((await page.set("#t", true)).readBack, { expected: "true", actual: "false", matches: false });
  }),
  "a field that may have become one of several": withPage("<p><input class='t' name='n'></p>", async (page) => {
    page.$(".t").addEventListener("input", () => (page.$("p").innerHTML = "<input name='n'><input name='n'>"));
    const { code, error } = await page.set(".t", "Acme");
    assert(code === "TargetStale" && /replaced the field/.test(error), error);
  }),
  "a field that accepts the value and disappears": withPage("<p><input class='t'></p><input>", async (page) => {
    page.$(".t").addEventListener("change", (event) => event.target.replaceWith(event.target.value));
    const { code, readBack } = await page.set(".t", "Acme");
    equal([code, readBack, page.$("p").textContent], [undefined, undefined, "Acme"]);
  }),
  "a mask adds and removes spaces and punctuation": async () => {
    for (const [given, written, matches] of [
      ["1234567890", "(123) 456-7890", true], ["(123) 456-7890", "1234567890", true], ["DE89 3704", "DE893704", true], ["1234.5", "1,234.5", true],
      ["1.5", "15", false], ["-5", "5", false], ["acme", "ACME", false], ["123", "1234", false], ["--", "", false],
    ]) {
      await withPage("<input id='t'>", async (page) => {
        page.$("#t").addEventListener("input", () => (page.$("#t").value = written));
        const { readBack, warnings } = await page.set("#t", given);
        equal([readBack, warnings], [{ expected: given, actual: written, matches }, matches ? [`the page wrote it as ${JSON.stringify(written)}`] : undefined]);
      })();
    }
  },
  "a text for which the page shows options may not be a choice yet": async () => {
    const warningsWith = async (isExpanded) => {
      let warnings;
      await withPage("<input id='t' role='combobox' aria-expanded='false'>", async (page) => {
        page.$("#t").addEventListener("input", () => page.$("#t").setAttribute("aria-expanded", isExpanded));
        ({ warnings } = await page.set("#t", "Ber"));
      })();
      return warnings?.map((text) => /options.*click that one/.test(text));
    };
    equal([await warningsWith(true), await warningsWith(false)], [[true], undefined]);
  },
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
  "a value that is not a file": refused("<input id='t' type='file'>", { name: "a", base64: "%" }, "ValueRefused", /base64/),
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
  "a state that is too large is cut, with a note": async () => {
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

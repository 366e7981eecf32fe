/** The look of the element `<mcp-web-ask>`: answers, markdown, texts and styles, also for screen readers. */

import { assert, equal } from "./assert.js";
import { all, announced, answer, box, button, eventually, finished, frame, inEmptyDocuments, input, one, rendered, shown, started, text, write } from "./ask-fixture.js";
import "./mcp-web-ask.js";

export default inEmptyDocuments({
  async "an answer that is a call or a value is shown in the page's format"() {
    const { bridge, mcpWeb, element, ask } = await box({ answer: ({ response }) => response && `Chosen: **${response.arguments.card}**` });
    mcpWeb.addTool({ name: "choose", handler: () => ({}) });
    await bridge.register();
    element.options = { responseTool: "choose" };
    const call = await ask("Choose");
    call.progress(started("1", "choose"));
    await call.complete({ toolCalls: [{ tool: "choose", arguments: { card: "c1" }, result: {} }] });
    await eventually(() => shown(element).includes("Chosen: c1"));
    equal(one(element, ".call").dataset.state, "done");
    element.options = undefined;
    const value = await ask("Value");
    await value.complete({ result: { late: 2 } });
    assert(shown(element).includes('"late": 2'), shown(element));
  },

  async "thoughts of a model are collapsed at first, and notes are shown"() {
    const { element, ask } = await box();
    const asked = await ask("?");
    asked.progress({ type: "thinking", text: "Hm." }, { type: "note", text: "The model is busy." }, { type: "usage", usage: { models: {}, milliseconds: 1 } });
    await asked.complete({ result: "So." });
    equal(one(element, "[part=thinking]").open, false);
    equal(one(element, "[part=thinking] summary").textContent, "Thinking");
    equal(one(element, "[part=note]").textContent, "The model is busy.");
  },

  async "screen readers get whole sentences once, each control has a name, and the log is quiet"() {
    const { element, ask } = await box({}, { label: "Ask the board" });
    const asked = await ask("What is late?");
    asked.say("accepted");
    const log = one(element, "[role=log]");
    equal([log.computedName, log.getAttribute("aria-live"), log.getAttribute("aria-busy")], ["Conversation", "off", "true"]);
    equal(one(element, "[role=status]").getAttribute("aria-atomic"), "false");
    asked.progress(text("Two **cards** are late by a week. The fir"));
    await eventually(() => announced(element).some((it) => it.includes("late")));
    equal(announced(element).filter((it) => it.includes("cards")), ["Two cards are late by a week."]);
    asked.progress(text("st is `c1`."), started("1", "list_cards"), finished("1", "list_cards", "it is gone"));
    await asked.complete();
    equal(announced(element), [
      "Waiting for the agent",
      "Two cards are late by a week.",
      "list_cards: failed. it is gone",
      "The first is c1.",
    ]);
    equal(log.getAttribute("aria-busy"), "false");
    equal([input(element).computedName, input(element).computedRole], ["Ask the board", "textbox"]);
    equal(one(element, "section").computedName, "Ask the board");
    for (const control of all(element, "button, textarea, summary, [tabindex]").filter((it) => it.checkVisibility())) {
      assert(control.computedName || control.localName === "pre", control.outerHTML);
    }
  },

  async "attributes and properties set the texts of the element"() {
    const { element } = await box({ strings: { send: "Fragen", placeholder: "Frag etwas", stop: undefined } });
    equal([button(element, "Fragen") !== undefined, input(element).placeholder], [true, "Frag etwas"]);
    write(element, "draft");
    element.setAttribute("placeholder", "Ask the board");
    element.setAttribute("suggestions", '["One", "Two"]');
    await frame();
    equal([input(element).placeholder, input(element).value], ["Ask the board", "draft"]);
    equal(all(element, ".suggestion").map((it) => it.textContent), ["One", "Two"]);
    element.label = "Ask";
    element.placeholder = "More";
    await frame();
    equal([element.label, element.placeholder, input(element).computedName, input(element).placeholder], ["Ask", "More", "Ask", "More"]);
  },

  async "custom properties of the page change the looks"() {
    const { element, ask } = await box();
    const looks = {
      "--mcp-web-background": "rgb(1, 2, 3)",
      "--mcp-web-text": "rgb(200, 201, 202)",
      "--mcp-web-accent": "rgb(250, 1, 1)",
      "--mcp-web-accent-text": "rgb(9, 9, 9)",
      "--mcp-web-border": "rgb(7, 8, 9)",
      "--mcp-web-muted": "rgb(4, 5, 6)",
      "--mcp-web-error": "rgb(10, 11, 12)",
      "--mcp-web-radius": "3px",
      "--mcp-web-font": "20px monospace",
      "--mcp-web-ask-max-height": "123px",
    };
    for (const [name, value] of Object.entries(looks)) element.style.setProperty(name, value);
    const style = (selector) => getComputedStyle(one(element, selector));
    const { backgroundColor, borderColor, borderRadius, color, fontSize, fontFamily } = style("[part=frame]");
    equal([backgroundColor, borderColor, borderRadius, color], ["rgb(1, 2, 3)", "rgb(7, 8, 9)", "3px", "rgb(200, 201, 202)"]);
    equal([fontSize, fontFamily], ["20px", "monospace"]);
    equal([style(".send").backgroundColor, style(".send").color], ["rgb(250, 1, 1)", "rgb(9, 9, 9)"]);
    const asked = await ask("?");
    equal([style("[part=state]").color, style("[part=conversation]").maxHeight], ["rgb(4, 5, 6)", "123px"]);
    await asked.fail({ code: "AgentFailed", error: "it failed" });
    equal(style("[part=failure]").color, "rgb(10, 11, 12)");
    element.style.colorScheme = "dark";
    for (const name of Object.keys(looks)) element.style.removeProperty(name);
    equal(style("[part=frame]").backgroundColor, "rgb(35, 38, 43)");
    equal(getComputedStyle(element).display, "block");
  },

  async "markdown is rendered, and forbidden markup is text or nothing"() {
    globalThis.attacked = false;
    const attacks = [
      "<script>attacked = true</script>",
      '<img src="x" onerror="attacked = true">',
      "[run](javascript:attacked=true) [data](data:text/html,<script>attacked=true</script>)",
      "[vb](vbscript:x) ![x](javascript:attacked=true)",
      '<a href="javascript:attacked=true">html</a> <iframe srcdoc="<script>parent.attacked=true</script>"></iframe>',
      '<svg onload="attacked = true"><style>*{display:none}</style></svg>',
      '<form action="//evil.example"><input name="password"></form>',
      '[style](x"onmouseover="attacked=true)',
    ];
    const element = await rendered(`# Title\n\n- [x] done\n- [ ] open\n\n| a | b |\n|---|:-:|\n| 1<br>2 | \`c\` |\n\n\`\`\`js\n<b>1</b>\n\`\`\`\n\n${attacks.join("\n\n")}`);
    equal(element.querySelector("h1").textContent, "Title");
    assert(element.innerText.includes("☑ done") && element.innerText.includes("☐ open"), element.innerText);
    equal(element.querySelector("td br") !== null, true);
    equal(element.querySelector("pre").innerText.trim(), "<b>1</b>");
    assert(element.innerText.includes('<iframe srcdoc='), "HTML is shown as text");
    equal([...element.querySelectorAll("script, iframe, svg, style, form, input, object, img")].map((it) => it.localName), []);
    for (const { attributes, href } of element.querySelectorAll("*")) {
      for (const { name } of attributes) assert(!name.startsWith("on") && name !== "style" && name !== "class", name);
      assert(!href || /^https?:/.test(href), href);
    }
    await frame();
    equal(globalThis.attacked, false);
  },

  async "links to other sites open a separate tab without a referrer, and only pictures with inline data are shown"() {
    const element = await rendered(
      "[other](https://other.example/a) [own](/own) [mail](mailto:a@b.example) ![pie chart](https://evil.example/?secret=1) ![](//evil.example/2) ![own picture](/redirect?to=evil.example) ![dot](data:image/gif;base64,R0lGODlhAQABAAAAACw=) [![in a link](https://evil.example/3)](https://other.example/b)",
    );
    const [other, own, mail, picture, , ownPicture] = element.querySelectorAll("a");
    equal([other.target, other.rel, own.target, own.rel], ["_blank", "noopener noreferrer nofollow", "", "noopener noreferrer nofollow"]);
    equal(mail.getAttribute("href"), "mailto:a@b.example");
    equal([picture.textContent, picture.getAttribute("href")], ["Picture: pie chart", "https://evil.example/?secret=1"]);
    equal([ownPicture.textContent, ownPicture.getAttribute("href")], ["Picture: own picture", "/redirect?to=evil.example"]);
    equal([...element.querySelectorAll("img")].map(({ src }) => src.slice(0, 14)), ["data:image/gif"]);
    const requests = performance.getEntriesByType("resource").filter(({ name }) => name.includes("evil.example"));
    equal(requests, []);
  },

  async "only the blocks of an answer that change are rendered again"() {
    const { element, ask } = await box();
    const asked = await ask("?");
    asked.progress(text("First.\n\nSec"));
    const paragraph = await eventually(() => element.shadowRoot.querySelector("[part=text] p"));
    asked.progress(text("ond, see [x].\n\n"));
    await eventually(() => answer(element).innerText.includes("see [x]"));
    equal(answer(element).querySelector("p"), paragraph);
    asked.progress(text("[x]: https://other.example/\n"));
    await asked.complete();
    equal(answer(element).querySelector("a").href, "https://other.example/");
  },

  async "without markdown, an answer is plain text"() {
    const { element, ask } = await box({}, { markdown: "off" });
    const asked = await ask("?");
    await asked.complete({ result: "**not** bold" });
    equal([answer(element).textContent, answer(element).childElementCount], ["**not** bold", 0]);
  },
});

/** The dialog that asks the user of the page instead of the client. */

import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";
import { pressIn, surface, use } from "./person.js";

const SCHEMA = {
  type: "object",
  properties: {
    title: { type: "string", title: "Card title", description: "Shown on the board", minLength: 3 },
    mail: { type: "string", format: "email" },
    at: { type: "string", format: "date-time", default: "2026-11-22T10:00:00.000Z" },
    day: { type: "string", format: "date" },
    points: { type: "integer", minimum: 1, maximum: 13, default: 3 },
    share: { type: "number" },
    column: { type: "string", enum: ["todo", "doing"], enumNames: ["To do", "Doing"] },
    color: { type: "string", oneOf: [{ const: "#f00", title: "Red" }], default: "#f00" },
    urgent: { type: "boolean", title: "Urgent", default: true },
    tags: { type: "array", title: "Tags", maxItems: 1, items: { anyOf: [{ const: "a", title: "A" }, { const: "b", title: "B" }] }, default: ["b"] },
  },
  required: ["title", "column"],
};
const CAPABLE = { info: { name: "client", title: "The Client" }, capabilities: { elicitation: {} } };
const BARE = { info: { name: "client", title: "The Client" }, capabilities: {} };

/** A page whose tool `t` asks. */
async function asking(elicitInPage, request = { message: "Please complete it.", schema: SCHEMA }, options = {}) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page({ elicitInPage, ...options });
  mcpWeb.addTool({ name: "t", handler: (_, ctx) => ctx.elicit(request) });
  await bridge.register();
  return bridge;
}

const start = (bridge, client) => bridge.start({ type: "tool-call", toolName: "t", toolInput: {}, context: { client } });
const result = async (bridge) => (await bridge.next("call-response")).result;

/** Returns the dialog, waiting for it if necessary. */
async function dialog() {
  const there = () => surface();
  while (!there()) await new Promise((resolve) => requestAnimationFrame(resolve));
  return there();
}

const controls = (dialog) => [...dialog.querySelectorAll("input, select, textarea")];
const named = (dialog, name) => controls(dialog).find((control) => control.computedName === name);
const button = (dialog, name) => [...dialog.querySelectorAll("button")].find((button) => button.computedName === name);
const gone = () => assert(!document.querySelector("[data-mcp-web]"), "the dialog is still there");

function fill(control, value) {
  control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

function describedBy(control) {
  const ids = control.getAttribute("aria-describedby")?.split(" ") ?? [];
  return ids.map((id) => control.getRootNode().getElementById(id).textContent);
}

/** Applies styles to the page while `use` runs. */
async function withStyle(properties, use) {
  const { style } = document.documentElement;
  for (const [name, value] of Object.entries(properties)) style.setProperty(name, value);
  try {
    await use();
  } finally {
    for (const name of Object.keys(properties)) style.removeProperty(name);
  }
}

export default {
  async "the dialog uses the colours, corners, font and colour scheme of the page"() {
    const looks = {
      "color-scheme": "dark",
      "--mcp-web-background": "rgb(1, 2, 3)",
      "--mcp-web-text": "rgb(200, 201, 202)",
      "--mcp-web-accent": "rgb(250, 1, 1)",
      "--mcp-web-accent-text": "rgb(9, 9, 9)",
      "--mcp-web-muted": "rgb(4, 5, 6)",
      "--mcp-web-border": "rgb(7, 8, 9)",
      "--mcp-web-error": "rgb(10, 11, 12)",
      "--mcp-web-radius": "3px",
      "--mcp-web-font": "20px monospace",
    };
    await withStyle(looks, async () => {
      const bridge = await asking("always");
      start(bridge, CAPABLE);
      const shown = await dialog();
      const { backgroundColor, color, borderRadius, borderColor, fontSize, fontFamily, colorScheme } = getComputedStyle(shown);
      equal([backgroundColor, color, borderColor, borderRadius], ["rgb(1, 2, 3)", "rgb(200, 201, 202)", "rgb(7, 8, 9)", "3px"]);
      equal([fontSize, fontFamily, colorScheme], ["20px", "monospace", "dark"]);
      const accept = getComputedStyle(shown.querySelector(".accept"));
      equal([accept.backgroundColor, accept.color], ["rgb(250, 1, 1)", "rgb(9, 9, 9)"]);
      // Text in the page's colour is also readable in fields.
      for (const control of [named(shown, "share"), named(shown, "column")]) {
        const { backgroundColor, color, borderColor } = getComputedStyle(control);
        equal([backgroundColor, color, borderColor], ["rgb(1, 2, 3)", "rgb(200, 201, 202)", "rgb(7, 8, 9)"]);
      }
      equal(getComputedStyle(shown.querySelector(".hint")).color, "rgb(4, 5, 6)");
      equal(getComputedStyle(shown.querySelector("footer")).color, "rgb(4, 5, 6)");
      await use(button(shown, "Send"));
      equal(getComputedStyle(shown.querySelector(".error:not(:empty)")).color, "rgb(10, 11, 12)");
      equal(getComputedStyle(named(shown, "Card title")).borderColor, "rgb(10, 11, 12)");
      await use(button(shown, "Decline"));
      equal(await result(bridge), { action: "decline" });
    });
  },

  async "an address can be read in the colours of the page"() {
    await withStyle({ "--mcp-web-background": "rgb(1, 2, 3)", "--mcp-web-text": "rgb(200, 201, 202)" }, async () => {
      const bridge = await asking("always", { message: "Sign in", url: "https://a.example/x?y=1" });
      start(bridge, CAPABLE);
      const shown = await dialog();
      const { backgroundColor, color } = getComputedStyle(shown.querySelector(".url"));
      equal([backgroundColor, color], ["rgb(1, 2, 3)", "rgb(200, 201, 202)"]);
      await use(button(shown, "Decline"));
      await result(bridge);
    });
  },

  async "the dialog has the page's colour scheme, and the person's where the page has none"() {
    const LIGHT = "rgb(255, 255, 255)";
    const DARK = "rgb(35, 38, 43)";
    const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
    for (const [page, scheme, background] of [
      ["light", "light", LIGHT],
      ["dark", "dark", DARK],
      ["light dark", "light dark", preferred],
      ["normal", "light dark", preferred],
    ]) {
      await withStyle({ "color-scheme": page }, async () => {
        const bridge = await asking("always");
        start(bridge, CAPABLE);
        const shown = await dialog();
        const { colorScheme, backgroundColor, borderRadius, fontSize } = getComputedStyle(shown);
        equal([colorScheme, backgroundColor, borderRadius, fontSize], [scheme, background, "12px", "15px"]);
        await use(button(shown, "Decline"));
        await result(bridge);
      });
    }
  },

  async "the dialog uses the texts of the app, and English ones for the rest"() {
    const dialogStrings = {
      title: (asker) => `${asker} fragt`,
      recipient: (asker, app) => `Ihre Antwort geht über ${app} an ${asker}.`,
      open: (host) => (host ? `${host} öffnen` : "Öffnen"),
      choose: "Auswählen …",
      decline: "Ablehnen",
      cancel: "Abbrechen",
      missing: "Bitte ausfüllen.",
      missingChoice: undefined,
      tooShort: (count) => `Mindestens ${count} Zeichen.`,
      tooLarge: (maximum) => `Höchstens ${maximum}.`,
    };
    const bridge = await asking("always", undefined, { dialogStrings });
    start(bridge, CAPABLE);
    const shown = await dialog();
    equal(shown.querySelector("h2").textContent, "The Client fragt");
    equal(shown.querySelector("footer").textContent, "Ihre Antwort geht über Test app an The Client.");
    equal(named(shown, "column").options[0].textContent, "Auswählen …");
    const title = named(shown, "Card title");
    fill(named(shown, "points"), "14");
    await use(button(shown, "Send"));
    equal(describedBy(title).at(-1), "Bitte ausfüllen.");
    equal(describedBy(named(shown, "column")), ["Please choose one."]);
    equal(describedBy(named(shown, "points")), ["Höchstens 13."]);
    fill(title, "ab");
    equal(describedBy(title).at(-1), "Mindestens 3 Zeichen.");
    assert(button(shown, "Abbrechen"), "the cross has another name");
    await use(button(shown, "Ablehnen"));
    equal(await result(bridge), { action: "decline" });
    for (const [url, options, name] of [
      ["https://a.example/", { dialogStrings }, "a.example öffnen"],
      ["mailto:me@a.example", { dialogStrings }, "Öffnen"],
      ["mailto:me@a.example", {}, "Open it"],
    ]) {
      const bridge = await asking("always", { message: "Sign in", url }, options);
      start(bridge, CAPABLE);
      const shown = await dialog();
      equal(shown.querySelector(".accept").computedName, name);
      await pressIn(shown, "Escape");
      equal(await result(bridge), { action: "cancel" });
    }
  },

  async "a form has a label for everything, and its values have their types"() {
    const bridge = await asking("fallback");
    start(bridge, BARE);
    const open = await dialog();
    equal([open.computedRole, open.computedName], ["dialog", "The Client asks"]);
    equal(describedBy(open), ["Please complete it."]);
    equal(controls(open).map(({ computedName }) => computedName), ["Card title", "mail", "at", "day", "points", "share", "column", "color", "Urgent", "A", "B"]);
    equal(open.querySelector("fieldset").computedName, "Tags");
    const title = named(open, "Card title");
    equal(open.getRootNode().activeElement.id, title.id);
    equal([title.getAttribute("aria-required"), describedBy(title)], ["true", ["Shown on the board"]]);
    fill(title, "Write <b>it</b>");
    fill(named(open, "share"), "0.5");
    fill(named(open, "column"), "1");
    await use(button(open, "Send"));
    equal(await result(bridge), {
      action: "accept",
      content: { title: "Write <b>it</b>", at: "2026-11-22T10:00:00.000Z", points: 3, share: 0.5, column: "doing", color: "#f00", urgent: true, tags: ["b"] },
    });
    gone();
  },

  async "an error is shown at its field until it is corrected"() {
    const bridge = await asking("always");
    start(bridge, CAPABLE);
    const open = await dialog();
    const title = named(open, "Card title");
    fill(title, "ab");
    fill(named(open, "mail"), "me");
    fill(named(open, "points"), "1.5");
    fill(named(open, "share"), "");
    named(open, "A").click();
    await use(button(open, "Send"));
    equal(describedBy(title), ["Shown on the board", "Please enter at least 3 characters."]);
    equal(open.getRootNode().activeElement.id, title.id);
    equal(describedBy(named(open, "mail")), ["Please enter something like name@example.com."]);
    equal(describedBy(named(open, "points")), ["Please enter a whole number."]);
    equal(describedBy(named(open, "column")), ["Please choose one."]);
    equal(describedBy(open.querySelector("fieldset")), ["Please choose at most 1."]);
    equal(controls(open).filter((control) => control.getAttribute("aria-invalid") === "true").length, 4);
    fill(title, "abc");
    equal([title.getAttribute("aria-invalid"), describedBy(title)], ["false", ["Shown on the board"]]);
    fill(named(open, "points"), "14");
    equal(describedBy(named(open, "points")), ["Please enter 13 or less."]);
    fill(named(open, "points"), "0");
    equal(describedBy(named(open, "points")), ["Please enter 1 or more."]);
    await use(button(open, "Decline"));
    equal(await result(bridge), { action: "decline" });
  },

  async "Escape and the close button cancel, and the focus returns"() {
    const before = document.body.appendChild(document.createElement("button"));
    for (const cancel of [(open) => pressIn(open, "Escape"), (open) => use(button(open, "Cancel"))]) {
      before.focus();
      const bridge = await asking("always");
      start(bridge, CAPABLE);
      const open = await dialog();
      assert(document.activeElement !== before);
      await cancel(open);
      equal(await result(bridge), { action: "cancel" });
      gone();
      assert(document.activeElement === before, "the focus did not return");
    }
    before.remove();
  },

  async "a cancelled call closes its dialog"() {
    const bridge = await asking("always");
    const requestId = start(bridge, CAPABLE);
    await dialog();
    bridge.say({ type: "call-cancel", requestId, code: "CallCancelled", reason: "the client cancelled" });
    gone();
  },

  async "two questions are asked one at a time"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page({ elicitInPage: "always" });
    const schema = { type: "object", properties: {} };
    mcpWeb.addTool({ name: "t", handler: (_, ctx) => Promise.all(["1", "2"].map((message) => ctx.elicit({ message, schema }))) });
    await bridge.register();
    start(bridge, CAPABLE);
    const first = await dialog();
    equal([describedBy(first), document.querySelectorAll("[data-mcp-web]").length], [["1"], 1]);
    await use(button(first, "Send"));
    const second = await dialog();
    equal(describedBy(second), ["2"]);
    await use(button(second, "Decline"));
    equal(await result(bridge), [{ action: "accept", content: {} }, { action: "decline" }]);
  },

  async "the client is asked if it can, and if the app wants it"() {
    const url = { message: "Sign in", url: "https://a.example/x?y=1" };
    const client = (elicitation) => ({ ...CAPABLE, capabilities: { elicitation } });
    for (const [mode, capable, request] of [
      ["never", BARE, undefined],
      [undefined, BARE, undefined],
      ["fallback", CAPABLE, undefined],
      ["fallback", client({ form: {} }), undefined],
      ["fallback", client({ url: {} }), url],
    ]) {
      const bridge = await asking(mode, request);
      start(bridge, capable);
      await bridge.next("client-requests");
      gone();
    }
    for (const [capable, request] of [[undefined, undefined], [CAPABLE, url], [client({ form: {} }), url], [client({ url: {} }), undefined]]) {
      const bridge = await asking("fallback", request);
      start(bridge, capable);
      await use(button(await dialog(), "Decline"));
      equal(await result(bridge), { action: "decline" });
      assert(!bridge.has("client-requests"));
    }
  },

  async "the page asks if the client turns out not to support it"() {
    const bridge = await asking("fallback");
    const requestId = start(bridge, CAPABLE);
    await bridge.next("client-requests");
    const error = { code: "ClientCapabilityMissing", message: "no" };
    bridge.say({ type: "client-responses", requestId, responses: [{ key: "elicit-1", error }] });
    await use(button(await dialog(), "Decline"));
    equal(await result(bridge), { action: "decline" });
  },

  async "the whole address is shown before it is opened"() {
    const opened = [];
    const { open } = globalThis;
    globalThis.open = (...args) => opened.push(args);
    const bridge = await asking("always", { message: "Sign in", url: "https://a.example/x?y=1" });
    start(bridge, CAPABLE);
    const shown = await dialog();
    equal(shown.querySelector(".url").textContent, "https://a.example/x?y=1");
    await use(button(shown, "Open a.example"));
    equal(await result(bridge), { action: "accept" });
    equal(opened, [["https://a.example/x?y=1", "_blank", "noopener,noreferrer"]]);
    globalThis.open = open;
  },

  async "invisible characters are shown, in the question, the form, the name of the client and an address"() {
    const unseen = "\u202e\u200b\ufe01";
    const seen = String.raw`\u{202e}\u{200b}\u{fe01}`;
    const client = { ...CAPABLE, info: { name: "client", title: `Client${unseen}` } };
    const schema = {
      type: "object",
      properties: {
        title: { type: "string", title: `Title${unseen}`, description: `Hint${unseen}`, default: `text${unseen}` },
        [`a${unseen}`]: { type: "string", enum: [`x${unseen}`], default: `x${unseen}` },
        tags: { type: "array", items: { anyOf: [{ const: "t", title: `T${unseen}` }] } },
      },
    };
    const bridge = await asking("always", { message: `Sure${unseen}?`, schema });
    start(bridge, client);
    const open = await dialog();
    equal([open.computedName, describedBy(open)[0]], [`Client${seen} asks`, `Sure${seen}?`]);
    equal(open.querySelector("footer").textContent, `Your answer goes to Client${seen} through Test app.`);
    equal(controls(open).map(({ computedName }) => computedName), [`Title${seen}`, `a${seen}`, `T${seen}`]);
    equal(describedBy(named(open, `Title${seen}`)), [`Hint${seen}`]);
    equal([...open.querySelectorAll("option")].map(({ textContent }) => textContent), ["No choice", `x${seen}`]);
    await use(button(open, "Send"));
    // The sent values are the ones that the person has read; a choice is the original one.
    equal((await result(bridge)).content, { title: `text${seen}`, [`a${unseen}`]: `x${unseen}` });
    const visiting = await asking("always", { message: "Sign in", url: `https://a.example/${unseen}moc.live` });
    start(visiting, CAPABLE);
    const shown = await dialog();
    equal(shown.querySelector(".url").textContent, `https://a.example/${encodeURIComponent(unseen)}moc.live`);
    await use(button(shown, "Decline"));
    await result(visiting);
  },

  async "an invalid request is rejected"() {
    for (const [request, message] of [
      [{ schema: SCHEMA }, /message must be/],
      [{ message: "?" }, /needs a schema/],
      [{ message: "?", url: "nowhere" }, /Invalid URL/],
    ]) {
      const bridge = await asking("always", request);
      start(bridge, CAPABLE);
      const error = await bridge.next("call-error");
      await rejects(Promise.reject(error), { code: "HandlerFailed", message });
    }
  },
};

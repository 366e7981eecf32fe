// Questions to the person from a frame: a page around it could draw over them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withChromium } from "./chromium.mjs";
import { connect } from "./devtools.mjs";

/** The DevTools target with a title, and the operations of the tests on it. */
class Target {
  static async connect(browser, title) {
    const target = new Target();
    target.call = await connect(browser, title);
    await target.call("Emulation.setFocusEmulationEnabled", { enabled: true });
    return target;
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
    return result.value;
  }

  async until(expression) {
    for (;;) {
      const value = await this.evaluate(expression);
      if (value) return value;
    }
  }

  /** Clicks a button with this text, also in closed shadow roots and frames, until `isDone`. */
  async click(text, isDone) {
    // The window may be gone, or the button may have no position.
    do await this.#clickOnce(text).catch(() => {});
    while (!(await isDone()));
  }

  async #clickOnce(text) {
    const { model } = await this.call("DOM.getBoxModel", { backendNodeId: await this.find(text) });
    const [left, top, , , right, bottom] = model.content;
    const place = { x: (left + right) / 2, y: (top + bottom) / 2, clickCount: 1 };
    for (const type of ["mousePressed", "mouseReleased"]) await this.call("Input.dispatchMouseEvent", { type, button: "left", ...place });
  }

  async find(text) {
    const { root } = await this.call("DOM.getDocument", { depth: -1, pierce: true });
    const pending = [root];
    for (let node = pending.pop(); node; node = pending.pop()) {
      const { children = [], shadowRoots = [], contentDocument } = node;
      if (node.localName === "button" && children[0]?.nodeValue === text) return node.backendNodeId;
      pending.push(...children, ...shadowRoots, ...(contentDocument ? [contentDocument] : []));
    }
    return undefined;
  }
}

/** Opens the page with a frame of a host. */
const withFrame = (host, run) =>
  withChromium(`person-frames.html?host=${host}`, ["--remote-debugging-port=0"], async (browser) => {
    const page = await Target.connect(browser, "Frames");
    await run(page, browser);
  });

test("an app in a frame of the same origin asks in the page around it, whose page tools wait and see nothing", () =>
  withFrame("127.0.0.1", async (page) => {
    await page.until("document.querySelector('[data-mcp-web]')");
    assert.equal(await page.evaluate("document.querySelector('iframe').contentDocument.querySelector('[data-mcp-web]')"), null);
    assert.equal(await page.evaluate("question()"), "May the AI use danger?");
    assert.doesNotMatch(await page.evaluate("listed()"), /danger|Allow/);
    await page.click("Allow", () => page.evaluate("answers.length"));
    assert.deepEqual(await page.evaluate("[answers, question() ?? null]"), [[true], null]);
    // A frame that is removed takes its question with it, without an answer.
    await page.evaluate("void document.querySelector('iframe').contentWindow.ask()");
    await page.until("document.querySelector('[data-mcp-web]')");
    await page.evaluate("document.querySelector('iframe').remove()");
    await page.until("!document.querySelector('[data-mcp-web]') && question() === undefined");
    assert.deepEqual(await page.evaluate("answers"), [true]);
  }));

test("an app in a frame of another origin asks in a separate window", () =>
  withFrame("localhost", async (page, browser) => {
    // The browser isolates sites, so the frame is a separate target.
    const frame = await Target.connect(browser, "person-framed.html");
    const title = "May the AI use danger?";
    let popup;
    await frame.click("Open a window", async () => (popup = await Promise.race([Target.connect(browser, title), soon()])));
    assert.equal(await page.evaluate("document.querySelector('[data-mcp-web]')"), null);
    assert.equal(await popup.evaluate("document.querySelector('[data-mcp-web]').shadowRoot"), null);
    assert.equal(await page.evaluate("answers.length"), 0);
    await popup.click("Allow", () => page.evaluate("answers.length"));
    assert.deepEqual(await page.evaluate("answers"), [true]);
  }));

/** A short time without a window. */
const soon = () => new Promise((resolve) => setTimeout(resolve, 1000)); // sleep: the button is clicked again then

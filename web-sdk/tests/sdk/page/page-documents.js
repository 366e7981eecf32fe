/** Documents that end or have no size, and the pages of an app. */

import { assert, equal } from "./assert.js";
import { withPage } from "./page-fixture.js";

/**
 * Creates a separate document with some HTML, whose global `page` drives it. Its scripts have the permissions of a page.
 */
async function inFrame(html, style = "", query = "") {
  const frame = document.createElement("iframe");
  frame.style = style;
  frame.src = `/page-frame.html${query}`;
  document.body.append(frame);
  await until(() => frame.contentWindow.page);
  const { page } = frame.contentWindow;
  page.root.innerHTML = html;
  return { frame, page, view: frame.contentWindow };
}

const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => requestAnimationFrame(resolve));
};

export default {
  "a window without a size: nothing covers anything, and no box is empty": async () => {
    const html = `<button id="t">Save</button><div style="overflow:hidden"><input aria-label="Name"></div><div style="position:fixed;inset:0">Cover</div>`;
    const { frame, page } = await inFrame(html, "width:0;height:0;border:0");
    equal(page.lines(), ['- button "Save"', '- textbox "Name": ""', "- text: Cover"]);
    equal(page.inspect("#t"), { label: 'button "Save"' });
    let clicks = 0;
    page.$("#t").addEventListener("click", () => clicks++);
    await page.click("#t");
    equal([clicks, (await page.set("input", "x")).readBack.matches], [1, true]);
    page.root.insertAdjacentHTML("beforeend", "<dialog>Sure?</dialog>");
    const ref = page.ref("#t");
    page.$("dialog").showModal();
    equal(page.driver.inspect(ref, { type: "hover" }).coveredBy, "dialog");
    page.$("dialog").close();
    await page.act({ type: "drag" }, "#t", "input");
    frame.remove();
  },
  "a link to another document ends the document, and its numbers are not reused": async () => {
    const { frame, page, view } = await inFrame(`<a id="t" href="/page-frame.html?next">Next</a>`);
    const ref = page.ref("#t");
    const ended = new Promise((resolve) => {
      view.addEventListener("pagehide", () => resolve(page.driver.endAction()));
    });
    void page.click("#t");
    equal((await ended).navigated, "/page-frame.html?next");
    await until(() => frame.contentWindow.page && frame.contentWindow.page !== page && frame.contentWindow.location.search === "?next");
    const next = frame.contentWindow.page;
    next.root.innerHTML = "<button id='b'>New</button>";
    equal(next.driver.inspect(ref, { type: "hover" }), "stale");
    assert(Number(next.ref("#b").slice(1)) > Number(ref.slice(1)));
    frame.remove();
  },
  "a router that handles a link stays in its document": async () => {
    const { frame, page, view } = await inFrame(`<a id="t" href="/orders">Orders</a>`);
    page.$("#t").addEventListener("click", (event) => {
      event.preventDefault();
      view.history.pushState(null, "", "/orders");
      page.root.append("Orders");
    });
    const { navigated } = await page.click("#t");
    equal([navigated, page.driver.page().pageId], ["/orders", "/orders"]);
    frame.remove();
  },
  "a document that does not load is a warning": async () => {
    const { frame, page } = await inFrame(`<a id="t" href="/never">Never</a>`);
    const { warnings, navigated } = await page.click("#t");
    equal([warnings, navigated], [["the page has begun to go to /never and is still here after 5000 ms"], undefined]);
    frame.remove();
  },
  "a page is opened by its link, or by its URL": async () => {
    for (const html of [`<a href="/page-frame.html?two">Two</a>`, "<p>No link</p>"]) {
      const { frame, page, view } = await inFrame(html);
      let clicks = 0;
      page.root.addEventListener("click", () => clicks++);
      const ended = new Promise((resolve) => view.addEventListener("pagehide", resolve));
      void page.driver.open("/page-frame.html?two", undefined, new AbortController().signal);
      await ended;
      await until(() => frame.contentWindow.page && frame.contentWindow.location.search === "?two");
      equal(clicks, html.includes("<a") ? 1 : 0);
      frame.remove();
    }
  },
  "input requires an app with a router": withPage("<p>x</p>", async (page) => {
    equal((await page.act({ type: "navigate", pageId: "/x", input: { a: 1 } })).code, "ActionUnsupported");
  }),
  "pages are the links of the same origin, without fragments, at most 100": async () => {
    const html = `<a href="/a">First</a><a href="/a#part">Part of it</a><a href="https://example.com/">Other</a><a href="/b" target="_blank">Tab</a><a href="/c" download>File</a>
      <a href="/d" aria-label="Fourth">4</a><div data-mcp-private><a href="/e">Private</a></div><a href="#/route">Route</a>`;
    await withPage(html, async (page) => {
      const [here, ...pages] = await page.driver.pages();
      equal(here.title, document.title);
      equal(pages.map(({ pageId, title }) => [pageId.replace(here.pageId, ""), title]), [["/a", "First"], ["/b", "Tab"], ["/d", "Fourth"], ["#/route", "Route"]]);
    })();
    for (const [links, count] of [[99, 100], [100, 100]]) {
      await withPage(Array.from({ length: links }, (_, index) => `<a href="/p${index}">${index}</a>`).join(""), async (page) => equal((await page.driver.pages()).length, count))();
    }
  },
  "a new tab that the browser does not open is reported": withPage(
    `<button id="s">Script</button><a id="l" href="/b?secret" target="_blank">Link</a><form action="/c" target="_blank"><button id="f">Form</button></form><a id="h" href="#x">Here</a>`,
    async (page) => {
      page.$("#s").addEventListener("click", () => window.open("/a"));
      const warningsOf = async (selector) => (await page.click(selector)).warnings ?? [];
      equal([(await warningsOf("#s")).length, (await warningsOf("#l")).length, (await warningsOf("#f")).length, (await warningsOf("#h")).length], [1, 1, 1, 0]);
      assert((await warningsOf("#s"))[0].includes("did not open /a"));
    },
  ),
  "a link to another program does not leave the page": withPage(`<a id="m" href="mailto:ada@example.com">Mail</a>`, async (page) => {
    const { navigated, warnings } = await page.click("#m");
    equal([navigated, warnings?.[0].startsWith("mailto:ada@example.com is opened by a program")], [undefined, true]);
  }),
  "a cancellation ends the wait for rest": withPage("<button id='t'>x</button>", async (page) => {
    page.$("#t").addEventListener("click", () => void fetch("/never").catch(() => {}));
    const cancel = new AbortController();
    const acting = page.act({ type: "triggerEvent", event: "onClick" }, "#t", undefined, { signal: cancel.signal });
    cancel.abort();
    equal((await acting).code, "AbortError");
    equal((await page.act({ type: "hover" }, "#t", undefined, { signal: cancel.signal })).code, "AbortError");
  }),
};

/** One `McpWeb` per page: modules that are replaced, and several copies and versions of the SDK. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { McpWeb } from "./mcp-web.js";

const options = { name: "Test app", storage: "none" };
const handler = () => {};

/** Another copy of the SDK, of the version. */
const copyOf = async (version) => (await import(`/version-${version}/mcp-web.js`)).McpWeb;
const { version } = await (await fetch("/package.json")).json();

/** Returns what `use` writes to the console as warnings. */
async function warningsOf(use) {
  const { warn } = console;
  const warnings = [];
  console.warn = (text) => text.includes("versions") && warnings.push(text);
  try {
    await use();
  } finally {
    console.warn = warn;
  }
  return warnings;
}

/** Waits until the page's status fulfils the condition. */
const status = (page, isMet) =>
  new Promise((resolve) => {
    const check = () => isMet(page.status) && resolve(unsubscribe());
    const unsubscribe = page.onStatusChange(check);
    check();
  });

export default {
  async "a module that is replaced 50 times has one connection and the newest handler"() {
    const bridge = new Bridge();
    const first = await bridge.page();
    const pages = new Set([first]);
    const run = (edit) => {
      const page = new McpWeb(options);
      page.addTool({ name: "count", description: `Edit ${edit}`, handler: () => edit });
      pages.add(page);
    };
    run(0);
    await bridge.register();
    for (let edit = 1; edit <= 50; edit += 1) {
      run(edit);
      equal((await bridge.register())[0].definition.description, `Edit ${edit}`);
    }
    equal([pages.size, bridge.connections, bridge.has("authenticate")], [1, 1, false]);
    equal((await bridge.tool("count")).result, 50);
  },

  async "apps, bridges, tokens and named sessions have separate objects"() {
    new Bridge();
    const others = [
      {},
      { name: "Other app" },
      { bridgeUrl: "http://other.example" },
      { authToken: "a-token-of-this-app" },
      { authToken: "another-token-of-this-app" },
      { authToken: () => "a-token-of-this-app" },
      { sessionId: "mine" },
      { sessionName: "left" },
    ];
    const create = () => others.map((other) => new McpWeb({ ...options, autoConnect: false, ...other }));
    const pages = create();
    equal(new Set(pages).size, others.length);
    assert(create().every((page, at) => page === pages[at]));
  },

  async "the newest token function is called"() {
    const bridge = new Bridge();
    const given = { ...options, authToken: async () => "the-token-of-the-first-module" };
    const page = new McpWeb(given);
    equal((await bridge.accept()).authToken, "the-token-of-the-first-module");
    await page.connect();
    equal(new McpWeb({ ...given, authToken: async () => "the-token-of-the-second-module" }) === page, true);
    bridge.breakConnection();
    equal((await bridge.accept()).authToken, "the-token-of-the-second-module");
  },

  async "a page that was disconnected connects again with the next object"() {
    const bridge = new Bridge();
    const page = await bridge.page();
    await page.disconnect();
    await status(page, ({ state }) => state === "disconnected");
    new McpWeb({ ...options, autoConnect: false });
    equal(page.status.state, "disconnected");
    new McpWeb(options);
    await bridge.accept();
    await status(page, ({ state }) => state === "connected");
    equal(bridge.connections, 2);
  },

  async "another copy of the same version gets the object of the first, without a warning"() {
    const bridge = new Bridge();
    const page = await bridge.page();
    const warnings = await warningsOf(async () => {
      const Copy = await copyOf(version);
      assert(Copy !== McpWeb);
      const other = new Copy(options);
      assert(other === page);
      other.addTool({ name: "of_the_copy", handler: () => "copied" });
      equal((await bridge.register()).length, 1);
      equal((await bridge.tool("of_the_copy")).result, "copied");
    });
    equal([warnings, bridge.connections], [[], 1]);
  },

  async "an older copy that is loaded later uses the newer one, and both are reported"() {
    const bridge = new Bridge();
    const page = await bridge.page();
    const warned = Promise.withResolvers();
    const warnings = await warningsOf(async () => {
      const { warn } = console;
      console.warn = (text) => (warn(text), text.includes("versions") && warned.resolve());
      const Older = await copyOf("0.0.9");
      assert(new Older(options) === page);
      await warned.promise;
    });
    equal(warnings.length, 1);
    assert(warnings[0].includes(`versions 0.0.9 and ${version} `) && warnings[0].includes(`: ${version} serves`), warnings[0]);
    equal(bridge.connections, 1);
  },

  async "a newer copy takes over the items of the older one, with the session and the token"() {
    const bridge = new Bridge();
    const events = [];
    const page = await bridge.page();
    const { sessionId, authToken } = page;
    page.onStatusChange(({ state }) => events.push(state));
    const unsubscribe = page.onCall(({ phase }) => events.push(phase));
    const tool = page.addTool({ name: "old_tool", handler: () => "old" });
    const resource = page.addResource({ uri: "test://cards", name: "cards", read: () => "cards" });
    const removed = page.addTool({ name: "removed", handler });
    await bridge.register();
    removed.remove();
    const warnings = await warningsOf(async () => {
      const Newer = await copyOf("99.0.0");
      equal(new Newer(options) === page, true);
      const introduction = await bridge.accept();
      equal([introduction.sessionId, introduction.authToken], [sessionId, authToken]);
    });
    assert(warnings[0].includes(`versions ${version} and 99.0.0 `) && warnings[0].includes(": 99.0.0 serves"), warnings[0]);
    const items = await bridge.register();
    equal(items.map(({ definition }) => definition.name), ["old_tool", "cards"]);
    await status(page, ({ state }) => state === "connected");
    await tool.registered;
    equal(events, ["connecting", "connected"]);
    equal([page.sessionId, tool.publishedName, bridge.connections], [sessionId, "old_tool", 2]);
    equal((await bridge.tool("old_tool")).result, "old");
    equal(events, ["connecting", "connected", "started", "finished"]);
    unsubscribe();

    // The app's objects of the older copy keep working.
    await Promise.all([tool.update({ handler: () => "new", description: "Newer" }), bridge.register()]);
    equal((await bridge.tool("old_tool")).result, "new");
    resource.notifyUpdated();
    equal((await bridge.next("resource-updated")).uri, "test://cards");
    page.addTool({ name: "later", handler: () => "later" });
    equal((await bridge.register())[0].definition.name, "later");
    tool.remove();
    equal((await bridge.next("unregister")).type, "unregister");
    const Newer = await copyOf("99.0.0");
    assert(new Newer(options) instanceof Newer);
    equal(bridge.connections, 2);
  },

  async "a newer copy waits for the calls of the older one"() {
    const bridge = new Bridge();
    const page = await bridge.page();
    const answer = Promise.withResolvers();
    page.addTool({ name: "slow", handler: () => answer.promise });
    await bridge.register();
    bridge.start({ type: "tool-call", toolName: "slow", toolInput: {} });
    await bridge.next("call-received");
    await warningsOf(async () => {
      const Newer = await copyOf("99.0.1");
      new Newer(options);
      // The module for the take-over has been loaded, and waits.
      await import("/version-99.0.1/mcp-web-takeover.js");
      equal(bridge.connections, 1);
      answer.resolve("done");
      equal((await bridge.next("call-response")).result, "done");
      await bridge.accept();
    });
    equal(bridge.connections, 2);
  },
};

/** The session of a tab, its introduction, and the timeouts of its tools. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { McpWeb } from "./mcp-web.js";
import { TabSession } from "./mcp-web/tab-session.ts";

const BRIDGE = "http://bridge.example";

const key = (name) => `mcp-web:session:${BRIDGE}:${name}`;
const session = (name, options) => new TabSession({ name, ...options }, BRIDGE);
const happens = (event, init) => dispatchEvent(new PageTransitionEvent(event, init));

export default {
  "the next document of a tab is the same session"() {
    const { id } = session("reload");
    assert(/^[0-9a-f]{32}$/.test(id), id);
    equal(sessionStorage.getItem(key("reload")), null, "nothing to copy while the document lives");
    happens("pagehide");
    equal(sessionStorage.getItem(key("reload")), id);
    equal(session("reload").id, id);
    equal(sessionStorage.getItem(key("reload")), null, "taken");
  },

  "a copy of an open tab is another session"() {
    const { id } = session("copy");
    assert(session("copy").id !== id);
  },

  "an id is kept over a freeze, during which a tab may be discarded"() {
    const { id } = session("freeze");
    document.dispatchEvent(new Event("freeze"));
    equal(sessionStorage.getItem(key("freeze")), id);
    document.dispatchEvent(new Event("resume"));
    equal(sessionStorage.getItem(key("freeze")), null);
  },

  "a page that is shown again restores its id, and one that is shown for the first time does not"() {
    const { id } = session("again");
    happens("pagehide", { persisted: true });
    happens("pageshow", { persisted: false });
    equal(sessionStorage.getItem(key("again")), id);
    happens("pageshow", { persisted: true });
    equal(sessionStorage.getItem(key("again")), null);
  },

  "names, bridges and apps have separate sessions"() {
    const left = session("named", { sessionName: "left" }).id;
    const right = session("named", { sessionName: "right" }).id;
    happens("pagehide");
    equal([session("named", { sessionName: "right" }).id, session("named", { sessionName: "left" }).id], [right, left]);
    assert(new TabSession({ name: "named", sessionName: "left" }, "http://other.example").id !== left);
  },

  "the app's own id is used unchanged, and nothing is stored without storage"() {
    equal(session("own", { sessionId: "mine" }).id, "mine");
    const { id } = session("none", { storage: "none" });
    happens("pagehide");
    equal([sessionStorage.getItem(key("own")), sessionStorage.getItem(key("none"))], [null, null]);
    assert(session("none", { storage: "none" }).id !== id);
  },

  "storage that throws is treated as missing"() {
    const { getItem } = Storage.prototype;
    Storage.prototype.getItem = () => {
      throw new DOMException("forbidden", "SecurityError");
    };
    try {
      const { id } = session("throws");
      happens("pagehide");
      assert(/^[0-9a-f]{32}$/.test(id));
    } finally {
      Storage.prototype.getItem = getItem;
    }
  },

  async "a tab whose session another tab took over continues as a separate session"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const states = [];
    mcpWeb.onStatusChange(({ state, error }) => states.push(error ? `${state} ${error.code}` : state));
    const former = mcpWeb.sessionId;
    bridge.say({ type: "session-closed", code: "SessionSuperseded", reason: "another connection took over" });
    const { sessionId } = await bridge.accept();
    await mcpWeb.connect();
    assert(sessionId !== former && sessionId === mcpWeb.sessionId);
    assert(bridge.url.endsWith(`?session=${sessionId}`), bridge.url);
    equal(states, ["reconnecting SessionSuperseded", "connecting", "connected"]);
  },

  async "only the app changes an id that it has set"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page({ sessionId: "mine" });
    bridge.say({ type: "session-closed", code: "SessionSuperseded", reason: "another connection took over" });
    equal([mcpWeb.status.state, mcpWeb.status.error.code, mcpWeb.sessionId], ["failed", "SessionSuperseded", "mine"]);
  },

  async "an icon that is too long for the introduction is left out, with a warning"() {
    const { warn } = console;
    const warnings = [];
    console.warn = (text) => warnings.push(text);
    try {
      for (const [length, sent] of [[32_768, 32_768], [32_769, undefined]]) {
        const bridge = new Bridge();
        new McpWeb({ name: `Icon of ${length}`, storage: "none", icon: "i".repeat(length) });
        const { app } = await bridge.accept();
        equal([app.name, app.icon?.length], [`Icon of ${length}`, sent]);
      }
    } finally {
      console.warn = warn;
    }
    equal(warnings, ["mcp-web: icons over 32768 characters are left out"]);
  },

  async "the session name is the one that the bridge assigned"() {
    const bridge = new Bridge();
    const mcpWeb = new McpWeb({ name: "Named", storage: "none", sessionName: "left" });
    equal(mcpWeb.sessionName, "left");
    await bridge.accept("b-1", { sessionName: "left 2" });
    await mcpWeb.connect();
    equal(mcpWeb.sessionName, "left 2");
  },

  async "a tool's timeout is sent in its _meta, and can be removed"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const tool = mcpWeb.addTool({ name: "t", timeout: 300_000, _meta: { a: 1 }, handler() {} });
    equal(await bridge.register(), [{ kind: "tool", definition: { name: "t", _meta: { a: 1, "mcp-web/timeout": 300_000 } } }]);
    tool.update({ timeout: undefined });
    equal(await bridge.register(), [{ kind: "tool", definition: { name: "t", _meta: { a: 1 } } }]);
    for (const timeout of [0, -1, 1.5, "1", Infinity, null]) {
      let error;
      try {
        mcpWeb.addTool({ name: "u", timeout, handler() {} });
      } catch (thrown) {
        error = thrown;
      }
      assert(error instanceof TypeError && /whole number of milliseconds/.test(error.message), String(timeout));
    }
  },
};

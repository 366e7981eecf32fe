/** Obstacles between a page and its bridge, as the app sees them. */

import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";
import { McpWeb } from "./mcp-web.js";

const BRIDGE = "http://127.0.0.1:9";

const browser = { WebSocket: globalThis.WebSocket, fetch: globalThis.fetch, query: navigator.permissions.query };

/** A simulated browser in which sockets behave like `socket` (a function of the created socket), and nothing answers. */
function surroundings({ socket, origin = location.origin, permission, answers = {} }) {
  globalThis.WebSocket = class {
    constructor() {
      socket(this);
    }
    close() {}
  };
  Object.defineProperty(globalThis, "origin", { value: origin, configurable: true, writable: true });
  globalThis.fetch = async (url, options) => {
    if (!String(url).startsWith(BRIDGE)) return browser.fetch.call(globalThis, url, options);
    const answer = answers[new URL(url).pathname];
    if (answer === undefined) throw new TypeError("Failed to fetch");
    return answer();
  };
  navigator.permissions.query = async ({ name }) => {
    if (!permission) throw new TypeError(`${name} is no permission`);
    return permission;
  };
}

const fails = (socket) => setTimeout(() => socket.onerror?.(new Event("error")));
const hangs = () => {};
const refuses = () => {
  throw new DOMException("insecure", "SecurityError");
};

function permissionIn(state) {
  return Object.assign(new EventTarget(), { state });
}

const page = (options) => new McpWeb({ name: `Walled ${Math.random()}`, bridgeUrl: BRIDGE, storage: "none", ...options });

/** The first status for which `wanted` is true. */
function statusWhen(mcpWeb, wanted) {
  if (wanted(mcpWeb.status)) return Promise.resolve(mcpWeb.status);
  return new Promise((resolve) => mcpWeb.onStatusChange((status) => wanted(status) && resolve(status)));
}

/** Maps the name of a check to its status and text. */
function byName({ checks }) {
  return Object.fromEntries(checks.map(({ name, status, message, remedy }) => [name, `${status}: ${message} ${remedy ?? ""}`]));
}

export default {
  async "a missing bridge is retried, and reported as unreachable"() {
    surroundings({ socket: fails });
    const mcpWeb = page();
    const { error } = await statusWhen(mcpWeb, ({ state }) => state === "reconnecting");
    equal(error.code, "BridgeUnreachable");
    const { ok, summary } = await mcpWeb.diagnose();
    assert(!ok && summary.includes("[FAILED] bridge: BridgeUnreachable"), summary);
    await mcpWeb.disconnect();
  },

  async "a web server that is not a bridge is recognised"() {
    surroundings({ socket: fails, answers: { "/sdk/mcp-web.js": () => new Response("", { status: 404 }) } });
    const mcpWeb = page();
    const { error } = await statusWhen(mcpWeb, ({ error }) => error?.remedy);
    equal(error.code, "BridgeUnreachable");
    assert(/something answers/.test(error.message) && /proxy/.test(error.remedy), error.message);
    assert(/HTTP 404/.test(byName(await mcpWeb.diagnose()).bridge));
    await mcpWeb.disconnect();
  },

  async "an https page and a bridge without TLS are mixed content, which is final"() {
    surroundings({ socket: refuses, origin: "https://app.example" });
    const mcpWeb = page({ autoConnect: false, bridgeUrl: "http://bridge.example" });
    await rejects(mcpWeb.connect(), { code: "MixedContentBlocked", message: /came over https.*reverse proxy/, remedy: /certificate/ });
    equal(mcpWeb.status.state, "failed");
    assert(/^failed: MixedContentBlocked/.test(byName(await mcpWeb.diagnose())["mixed content"]));
  },

  async "while the browser asks its user, the status reports it"() {
    surroundings({ socket: hangs, origin: "https://app.example", permission: permissionIn("prompt") });
    const mcpWeb = page();
    const status = await statusWhen(mcpWeb, ({ error }) => error);
    equal([status.state, status.error.code], ["connecting", "LocalNetworkPending"]);
    assert(/choose "Allow"/.test(status.error.remedy));
    await mcpWeb.disconnect();
  },

  async "a denied permission ends the attempts, and a granted one begins them again"() {
    const permission = permissionIn("denied");
    surroundings({ socket: fails, origin: "https://app.example", permission });
    const mcpWeb = page();
    const { state, error } = await statusWhen(mcpWeb, ({ error }) => error?.remedy);
    equal([state, error.code], ["failed", "LocalNetworkDenied"]);
    assert(/^failed: LocalNetworkDenied/.test(byName(await mcpWeb.diagnose())["local network access"]));
    const connecting = statusWhen(mcpWeb, ({ state }) => state === "connecting");
    surroundings({ socket: hangs, origin: "https://app.example", permission });
    permission.dispatchEvent(new Event("change"));
    await connecting;
    await mcpWeb.disconnect();
    equal(mcpWeb.status.state, "disconnected");
  },

  async "a page that disconnects after a final failure is disconnected"() {
    surroundings({ socket: fails, origin: "https://app.example", permission: permissionIn("denied") });
    const mcpWeb = page();
    await statusWhen(mcpWeb, ({ state }) => state === "failed");
    await mcpWeb.disconnect();
    equal(mcpWeb.status, { state: "disconnected" });
  },

  async "a page with an opaque origin gets advice"() {
    const bridge = new Bridge();
    Object.defineProperty(globalThis, "origin", { value: "null", configurable: true, writable: true });
    const mcpWeb = page({ autoConnect: false });
    const connected = mcpWeb.connect();
    await bridge.next("authenticate");
    bridge.say({ type: "authentication-failed", code: "OriginNotAllowed", error: 'pages from "null" may not use this bridge' });
    await rejects(connected, { code: "OriginNotAllowed", message: /no origin \(http:\).*http:\/\/localhost/ });
  },

  async "a bridge that rejects this page is reported"() {
    const bridge = new Bridge();
    Object.defineProperty(globalThis, "origin", { value: "https://app.example", configurable: true, writable: true });
    const mcpWeb = page({ autoConnect: false });
    const connected = mcpWeb.connect();
    await bridge.next("authenticate");
    bridge.say({ type: "authentication-failed", code: "OriginNotAllowed", error: "add the origin to allowed_origins" });
    await rejects(connected, { code: "OriginNotAllowed", message: "add the origin to allowed_origins" });
    surroundings({ socket: fails, origin: "https://app.example", answers: { "/sdk/mcp-web.js": () => new Response("") } });
    const outcome = byName(await mcpWeb.diagnose())["origin at the bridge"];
    assert(/^failed: OriginNotAllowed.*--allowed-origins loopback,https:\/\/app\.example/.test(outcome), outcome);
  },

  async "a diagnosis contains only the kind, length and end of a token"() {
    const encode = (claims) => btoa(JSON.stringify(claims)).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
    const jwt = (exp) => `${encode({ alg: "HS256" })}.${encode({ sub: "alice", exp })}.c2lnbmF0dXJl`;
    const seconds = Date.now() / 1000;
    const opaque = "0123456789abcdef-secret";
    for (const [authToken, says] of [
      [opaque, /^passed: opaque, 23 characters, fixed/],
      ["short", /^failed: opaque, 5 characters/],
      [jwt(seconds - 60), /^failed: TokenExpired: JWT, \d+ characters, fixed, expired \d+ s ago make authToken a function/],
      [jwt(seconds + 60), /^passed: JWT.* good for \d+ s more/],
      [jwt(undefined), /^passed: JWT.* without an end/],
    ]) {
      surroundings({ socket: fails });
      const diagnosis = await page({ autoConnect: false, authToken }).diagnose();
      assert(says.test(byName(diagnosis).token), byName(diagnosis).token);
      assert(!JSON.stringify(diagnosis).includes(authToken));
    }
    surroundings({ socket: fails });
    const mcpWeb = page({ authToken: async () => opaque });
    await statusWhen(mcpWeb, ({ state }) => state === "reconnecting");
    assert(/^passed: opaque, 23 characters, from the authToken function/.test(byName(await mcpWeb.diagnose()).token));
    await mcpWeb.disconnect();
  },

  async "a bridge that disconnects is not diagnosed"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    let sockets = 0;
    surroundings({ socket: (socket) => (sockets += 1) && fails(socket) });
    const wait = (number) => statusWhen(mcpWeb, ({ error }) => error?.code === "BridgeUnreachable" && sockets === number);
    bridge.breakConnection();
    await wait(1);
    await wait(2);
    assert(mcpWeb.status.error.remedy === undefined);
    await mcpWeb.disconnect();
  },

  async "a problem with a token is described in the page's terms"() {
    for (const code of ["InvalidAuthentication", "TokenExpired"]) {
      const bridge = new Bridge();
      const mcpWeb = page({ autoConnect: false });
      const connected = mcpWeb.connect();
      await bridge.next("authenticate");
      bridge.say({ type: "authentication-failed", code, error: "no" });
      await rejects(connected, { code, message: /\(authToken of new McpWeb\(\)\)$/ });
    }
  },

  async "tokens in the app's own errors are removed"() {
    const bridge = new Bridge();
    const authToken = "0123456789abcdef-secret";
    const mcpWeb = await bridge.page({ authToken });
    const tool = mcpWeb.addTool({ name: "t", handler() {} });
    const { registrationId } = await bridge.next("register");
    const message = `no such schema: ${authToken}`;
    bridge.say({ type: "registered", registrationId, items: [], errors: [{ index: 0, code: "DefinitionInvalid", message }] });
    await rejects(tool.registered, { code: "DefinitionInvalid" });
    const diagnosis = await mcpWeb.diagnose();
    const outcome = byName(diagnosis).registration;
    assert(/^failed: 0 of 1 registered; refused: tool "t" \(DefinitionInvalid: no such schema: \(the token\)\)/.test(outcome), outcome);
    assert(!JSON.stringify(diagnosis).includes(authToken));
    assert(byName(diagnosis).connection.startsWith("passed") && byName(diagnosis).websocket.startsWith("passed"));
  },
};

/** A second `new McpWeb()` with another token function, possibly that of another user. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { McpWeb } from "./mcp-web.js";

const ADA = "the-token-of-ada";
const BOB = "the-token-of-bob";

const options = { name: "Test app", storage: "none" };

/** A page of ada with the tool `whoami`, whose handler records that it ran. */
async function pageOfAda(bridge) {
  const page = await bridge.page({ authToken: () => ADA });
  const ran = [];
  const offer = (user) =>
    page.addTool({
      name: "whoami",
      handler: () => {
        ran.push(user);
        return user;
      },
    });
  offer("ada");
  await bridge.register();
  return { page, offer, ran };
}

const attach = (authToken) => new McpWeb({ ...options, authToken });
const start = (bridge) => bridge.start({ type: "tool-call", toolName: "whoami", toolInput: {} });

/** Receives the renewal of a token, which is sent twice, and returns the token. */
async function renewal(bridge) {
  const [first, second] = [await bridge.next("renew"), await bridge.next("renew")];
  equal(first.authToken, second.authToken);
  return first.authToken;
}

/** Reports that a token belongs to the same user. */
function renew(bridge, tokenExpiresInMs) {
  for (let answer = 0; answer < 2; answer += 1) bridge.say({ type: "renewed", tokenExpiresInMs });
}

/** Reports that a token belongs to another user. */
function endSession(bridge) {
  bridge.say({ type: "session-closed", code: "TokenExpired", reason: "another user has taken the page over" });
  bridge.breakConnection(4003);
}

/** Waits until the page has handled everything that was sent so far. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

/** Lets the test fire the timers of this many milliseconds. */
function holdTimers(held) {
  const { setTimeout } = globalThis;
  const timers = [];
  globalThis.setTimeout = (callback, ms, ...rest) => (ms === held ? timers.push(callback) : setTimeout(callback, ms, ...rest));
  return { timers, restore: () => (globalThis.setTimeout = setTimeout) };
}

export default {
  async "no call and no definition passes from one user to the other"() {
    const bridge = new Bridge();
    const { page, offer, ran } = await pageOfAda(bridge);
    const token = Promise.withResolvers();
    equal(attach(() => token.promise) === page, true);
    offer("bob");
    start(bridge);
    await settled();
    equal([bridge.has("register"), bridge.has("call-received"), page.status.state], [false, false, "connected"]);
    token.resolve(BOB);
    equal(await renewal(bridge), BOB);
    endSession(bridge);
    equal((await bridge.accept()).authToken, BOB);
    equal((await bridge.register()).length, 1);
    equal([ran, page.authToken, bridge.has("call-received")], [[], BOB, false]);
    equal((await bridge.tool("whoami")).result, "bob");
    equal(ran, ["bob"]);
  },

  async "a running call is cancelled when the page changes to another user"() {
    const bridge = new Bridge();
    const page = await bridge.page({ authToken: () => ADA });
    const aborted = Promise.withResolvers();
    page.addTool({
      name: "hang",
      handler: (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => aborted.resolve(signal.reason))),
    });
    await bridge.register();
    const call = bridge.start({ type: "tool-call", toolName: "hang", toolInput: {} });
    await bridge.next("call-received");
    attach(() => BOB);
    await renewal(bridge);
    endSession(bridge);
    await bridge.accept();
    const { check, requestIds: calls } = await bridge.next("calls-check");
    equal(calls, [call]);
    bridge.say({ type: "calls-alive", check, requestIds: [], ended: calls });
    equal((await aborted.promise).code, "CallCancelled");
  },

  async "a fresh token of the same user has no other effect"() {
    const bridge = new Bridge();
    const page = await bridge.page({ authToken: () => ADA });
    const answer = Promise.withResolvers();
    page.addTool({ name: "slow", handler: () => answer.promise });
    page.addTool({ name: "edited", handler: () => "before" });
    await bridge.register();
    const states = [];
    page.onStatusChange(({ state }) => states.push(state));
    const slow = bridge.start({ type: "tool-call", toolName: "slow", toolInput: {} });
    await bridge.next("call-received");
    attach(async () => "a-fresh-token-of-ada");
    page.addTool({ name: "edited", description: "After", handler: () => "after" });
    const edited = bridge.start({ type: "tool-call", toolName: "edited", toolInput: {} });
    answer.resolve("done");
    equal(await renewal(bridge), "a-fresh-token-of-ada");
    equal(bridge.has("call-response"), false);
    renew(bridge);
    // In the order in which the page sent them.
    const { requestId, result } = await bridge.next("call-response");
    equal([requestId, result], [slow, "done"]);
    equal((await bridge.register())[0].definition.description, "After");
    const second = await bridge.next("call-response");
    equal([second.requestId, second.result], [edited, "after"]);
    equal([states, bridge.connections, page.authToken], [[], 1, "a-fresh-token-of-ada"]);
  },

  async "the same token is not sent again, however often the component is mounted"() {
    const bridge = new Bridge();
    const { page, offer } = await pageOfAda(bridge);
    const states = [];
    page.onStatusChange(({ state }) => states.push(state));
    for (let mount = 0; mount < 30; mount += 1) attach(async () => ADA);
    offer("ada, mounted again");
    await bridge.register();
    equal((await bridge.tool("whoami")).result, "ada, mounted again");
    equal([bridge.has("renew"), bridge.connections, states], [false, 1, []]);
  },

  async "the newest of several functions is used, also from ada to bob to ada"() {
    const bridge = new Bridge();
    const { offer } = await pageOfAda(bridge);
    const bob = Promise.withResolvers();
    attach(() => bob.promise);
    attach(async () => ADA);
    offer("ada again");
    bob.resolve(BOB);
    await bridge.register();
    equal((await bridge.tool("whoami")).result, "ada again");
    equal([bridge.has("renew"), bridge.connections], [false, 1]);

    attach(() => BOB);
    equal(await renewal(bridge), BOB);
    attach(() => ADA);
    endSession(bridge);
    equal((await bridge.accept()).authToken, ADA);
    equal(bridge.connections, 2);
  },

  async "a function that is replaced while its token is verified is not used"() {
    const bridge = new Bridge();
    const { offer, ran } = await pageOfAda(bridge);
    attach(() => "a-fresh-token-of-ada");
    equal(await renewal(bridge), "a-fresh-token-of-ada");
    attach(() => BOB);
    offer("bob");
    start(bridge);
    renew(bridge);
    equal(await renewal(bridge), BOB);
    endSession(bridge);
    await bridge.accept();
    equal(ran, []);
  },

  async "the answer to an earlier renewal is ignored"() {
    const bridge = new Bridge();
    const tokens = [ADA, "a-fresh-token-of-ada"];
    const page = new McpWeb({ ...options, authToken: () => tokens.shift() });
    page.addTool({ name: "whoami", handler: () => "ada" });
    await bridge.accept("b-1", { tokenExpiresInMs: 1 });
    await bridge.register();
    equal((await bridge.next("renew")).authToken, "a-fresh-token-of-ada");
    attach(() => BOB);
    equal(await renewal(bridge), BOB);
    start(bridge);
    // This is about ada's fresh token.
    bridge.say({ type: "renewed" });
    await settled();
    equal(bridge.has("call-received"), false);
    endSession(bridge);
    equal((await bridge.accept()).authToken, BOB);
    await bridge.register();
    equal(bridge.has("call-received"), false);
  },

  async "a function that fails ends the connection with the former token"() {
    const bridge = new Bridge();
    const { page, ran } = await pageOfAda(bridge);
    const reconnecting = new Promise((resolve) => page.onStatusChange(resolve));
    let calls = 0;
    attach(async () => {
      calls += 1;
      if (calls === 1) throw new Error("the issuer is away");
      return BOB;
    });
    start(bridge);
    const { state, error } = await reconnecting;
    equal([state, error.code, bridge.closeCode], ["reconnecting", "ConnectionLost", 4000]);
    equal((await bridge.accept()).authToken, BOB);
    equal(ran, []);
  },

  async "a token that the bridge refuses ends the connection with the former token"() {
    const bridge = new Bridge();
    const { page } = await pageOfAda(bridge);
    attach(() => BOB);
    await renewal(bridge);
    bridge.say({ type: "renewal-failed", code: "InvalidAuthentication", error: "no such token" });
    equal((await bridge.accept()).authToken, BOB);
    equal([bridge.closeCode, page.status.state !== "failed"], [4000, true]);
  },

  async "a function that never returns ends the session of the former token"() {
    const bridge = new Bridge();
    const { page, offer, ran } = await pageOfAda(bridge);
    const { timers, restore } = holdTimers(5_000);
    try {
      attach(() => new Promise(() => {}));
      offer("bob");
      start(bridge);
      await settled();
      timers[0]();
      equal([bridge.closeCode, ran, page.authToken], [1000, [], undefined]);
    } finally {
      restore();
    }
    // The next function is called instead.
    await settled();
    attach(() => BOB);
    equal((await bridge.accept()).authToken, BOB);
  },

  async "a function that never returned does not keep the next one from connecting"() {
    const bridge = new Bridge();
    const page = attach(() => new Promise(() => {}));
    await new Promise((resolve) => page.onStatusChange(({ state }) => state === "connecting" && resolve()));
    attach(() => BOB);
    equal((await bridge.accept()).authToken, BOB);
    await page.connect();
  },

  async "a function that is replaced at any time during an attempt does not pass its token to the next one"() {
    for (let depth = 0; depth < 12; depth += 1) {
      const bridge = new Bridge();
      const page = attach(() => {
        let turns = depth;
        const turn = () => (turns-- ? queueMicrotask(turn) : attach(() => BOB));
        queueMicrotask(turn);
        return ADA;
      });
      page.addTool({ name: "whoami", handler: () => "bob" });
      const { authToken } = await bridge.accept();
      if (authToken !== BOB) {
        equal([await renewal(bridge), bridge.has("register")], [BOB, false]);
        endSession(bridge);
        equal((await bridge.accept()).authToken, BOB);
      }
      await bridge.register();
    }
  },

  async "a socket that is not accepted yet is opened with the newest token"() {
    const bridge = new Bridge();
    let connections = 0;
    const page = attach(() => {
      // The socket is opened in the next task.
      setTimeout(() => attach(() => BOB));
      connections += 1;
      return ADA;
    });
    equal((await bridge.accept()).authToken, BOB);
    await page.connect();
    equal([bridge.connections, connections, bridge.has("renew")], [1, 1, false]);
  },

  async "a socket that was opened with the former token is verified before it is used"() {
    const bridge = new Bridge();
    const page = attach(() => ADA);
    page.addTool({ name: "whoami", handler: () => "ada" });
    const introduction = await bridge.next("authenticate");
    equal(introduction.authToken, ADA);
    attach(() => BOB);
    equal(await renewal(bridge), BOB);
    equal(bridge.has("register"), false);
    endSession(bridge);
    equal((await bridge.accept()).authToken, BOB);
    await bridge.register();
  },

  async "a page without a connection connects with the newest token"() {
    const bridge = new Bridge();
    const { page, offer, ran } = await pageOfAda(bridge);
    bridge.breakConnection();
    attach(() => BOB);
    offer("bob");
    equal((await bridge.accept()).authToken, BOB);
    await bridge.register();
    equal([bridge.has("renew"), page.authToken, ran], [false, BOB, []]);
  },

  async "disconnect() while a token is verified is final"() {
    const bridge = new Bridge();
    const { page } = await pageOfAda(bridge);
    const token = Promise.withResolvers();
    attach(() => token.promise);
    await page.disconnect();
    equal([page.status.state, bridge.closeCode], ["disconnected", 1000]);
    token.resolve(BOB);
    await settled();
    equal([page.status.state, bridge.has("renew"), bridge.connections], ["disconnected", false, 1]);
    const connected = page.connect();
    equal((await bridge.accept()).authToken, BOB);
    await connected;
  },

  async "two users side by side have separate handlers, and the developer is warned"() {
    const bridge = new Bridge();
    const { warn } = console;
    const warned = Promise.withResolvers();
    console.warn = (text) => text.includes("different tokens") && warned.resolve(text);
    try {
      const create = (user, more) => {
        const page = new McpWeb({ ...options, authToken: `the-token-of-${user}`, ...more });
        page.addTool({ name: "whoami", description: "Names the user", handler: () => user });
        return page;
      };
      const [ada, bob] = [create("ada"), create("bob")];
      assert(ada !== bob);
      const warning = await warned.promise;
      assert(/"whoami".*disconnect\(\).*sessionName/.test(warning), warning);
    } finally {
      console.warn = warn;
    }
  },
};

/** Queries across broken connections, reloads and copies of a tab. */

import { asking, complete, nextQuery, progress, read, reconnect, say, settled, text } from "./asking.js";
import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";
import { TabSession } from "./mcp-web/tab-session.ts";

export default {
  // First, because all pages of the document receive the event that they are frozen.
  async "a page that was frozen and is shown again resumes its queries"() {
    const { bridge, mcpWeb, query } = await asking();
    say(bridge, query, "accepted");
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    await bridge.next("leaving");
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    await bridge.accept();
    equal((await bridge.next("query_attach")).uuid, query.uuid);
    complete(bridge, query, { result: "Done" });
    equal((await query.result).text, "Done");
    await mcpWeb.disconnect();
  },

  async "a query waits for the connection"() {
    const bridge = new Bridge();
    const page = bridge.page();
    const { McpWeb } = await import("./mcp-web.js");
    const idle = new McpWeb({ name: "Idle", storage: "none", autoConnect: false });
    const mcpWeb = await page;
    bridge.breakConnection();
    const query = mcpWeb.query({ prompt: "?" });
    await settled();
    equal([query.state, bridge.has("query"), mcpWeb.openQueries], ["waiting", false, []]);
    await bridge.accept();
    equal((await nextQuery(bridge)).uuid, query.uuid);
    equal(mcpWeb.openQueries, [query.uuid]);
    const early = idle.query({ prompt: "?" });
    await settled();
    equal(early.state, "waiting");
    early.cancel();
    await rejects(early.result, { code: "QueryCancelled" });
  },

  async "a query that was not accepted before the connection broke is sent again, with the same id"() {
    const { bridge, query, asked } = await asking();
    await reconnect(bridge);
    equal(await nextQuery(bridge), asked);
    say(bridge, query, "accepted");
    // The first query had been accepted after all.
    complete(bridge, query, { result: "Done" });
    say(bridge, query, "failure", { code: "QueryCompleted", error: "asked before" });
    equal((await query.result).text, "Done");
  },

  async "an accepted query is resumed after a broken connection, and no event is repeated"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    progress(bridge, query, text("a"), 1);
    progress(bridge, query, text("b"), 2);
    await reconnect(bridge);
    equal(await bridge.next("query_attach"), { type: "query_attach", uuid: query.uuid });
    say(bridge, query, "accepted");
    progress(bridge, query, { type: "note", text: "earlier progress was dropped" });
    for (const [at, piece] of ["a", "b", "c"].entries()) progress(bridge, query, text(piece), at + 1);
    complete(bridge, query, { result: "abc" });
    complete(bridge, query, { result: "abc" });
    equal(await read(query), [text("a"), text("b"), { type: "note", text: "earlier progress was dropped" }, text("c")]);
    assert(!bridge.has("query"));
  },

  async "a cancellation without a connection is sent on the next one"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    await reconnect(bridge, () => query.cancel("enough"));
    equal(await bridge.next("query_cancel"), { type: "query_cancel", uuid: query.uuid, reason: "enough" });
    await rejects(query.result, { code: "QueryCancelled" });
    await settled();
    assert(!bridge.has("query_attach"));
  },

  async "an answer to a request for approval is stored until the page is connected, and dropped with its query"() {
    const { bridge, mcpWeb, query } = await asking(undefined, undefined, { approvals: "app" });
    const over = mcpWeb.query({ prompt: "!" });
    await nextQuery(bridge);
    for (const { uuid } of [query, over]) say(bridge, { uuid }, "accepted");
    await reconnect(bridge, () => {
      query.approve("1", false);
      query.approve("2");
      over.approve("3");
      over.cancel();
    });
    equal((await bridge.next("query_attach")).uuid, query.uuid);
    const answer = { type: "query_answer", uuid: query.uuid };
    equal(await bridge.next("query_answer"), { ...answer, id: "1", approved: false });
    equal(await bridge.next("query_answer"), { ...answer, id: "2", approved: true });
    await reconnect(bridge);
    await bridge.next("query_attach");
    assert(!bridge.has("query_answer"), "each answer is sent once, and none for a query that has ended");
  },

  async "a page that has not connected yet stores its answers"() {
    const bridge = new Bridge();
    const { McpWeb } = await import("./mcp-web.js");
    const mcpWeb = new McpWeb({ name: "Not connected", storage: "none", approvals: "app", autoConnect: false });
    const query = mcpWeb.attachQuery("u");
    await settled();
    query.approve("1");
    const connecting = mcpWeb.connect();
    await bridge.accept();
    await connecting;
    equal((await bridge.next("query_attach")).uuid, "u");
    equal(await bridge.next("query_answer"), { type: "query_answer", uuid: "u", id: "1", approved: true });
  },

  async "a restarted bridge does not know the query"() {
    const { bridge, query } = await asking();
    say(bridge, query, "accepted");
    await reconnect(bridge, undefined, "b-2");
    await bridge.next("query_attach");
    say(bridge, query, "failure", { code: "QueryNotFound", error: "there is no such query", reason: "ask again" });
    await rejects(query.result, { code: "QueryNotFound", remedy: "ask again" });
  },

  async "a query that no agent accepts in time fails, and the bridge is notified"() {
    const { bridge, query } = await asking({ prompt: "?", timeout: 30 });
    await rejects(query.result, { code: "QueryTimeout", message: /no agent took the query within 30 ms/ });
    equal((await bridge.next("query_cancel")).uuid, query.uuid);
    const taken = await asking({ prompt: "?", timeout: 30 });
    say(taken.bridge, taken.query, "accepted");
    await rejects(taken.mcpWeb.query({ prompt: "?", timeout: 31 }).result, { code: "QueryTimeout" });
    equal(taken.query.state, "running", "the bridge looks after that");
  },

  async "disconnecting cancels queries, and none can be sent afterwards"() {
    const { bridge, mcpWeb, query } = await asking();
    say(bridge, query, "accepted");
    await mcpWeb.disconnect();
    equal((await bridge.next("query_cancel")).uuid, query.uuid);
    await rejects(query.result, { code: "Disconnected" });
    equal(query.state, "cancelled");
    await rejects(mcpWeb.query({ prompt: "?" }).result, { code: "Disconnected", message: /connect\(\) first/ });
  },

  async "a final failure of the connection fails its queries"() {
    const { bridge, mcpWeb, query } = await asking({ prompt: "?" }, undefined, { sessionId: "mine" });
    bridge.say({ type: "session-closed", code: "SessionExpired", reason: "too long" });
    await rejects(query.result, { code: "SessionExpired" });
    await rejects(mcpWeb.query({ prompt: "?" }).result, { code: "SessionExpired" });
  },

  async "the queries of a session that another tab took over are lost to this tab"() {
    const { bridge, mcpWeb, query } = await asking();
    say(bridge, query, "accepted");
    bridge.say({ type: "session-closed", code: "SessionSuperseded", reason: "another connection took over" });
    await rejects(query.result, { code: "SessionSuperseded" });
    equal(mcpWeb.openQueries, []);
    await bridge.accept();
    await mcpWeb.connect();
    assert(!bridge.has("query_attach"));
  },

  async "the next document of a tab resumes its queries, and a copy of the tab does not"() {
    const bridge = new Bridge();
    const options = { name: "Reloaded", storage: "local", authToken: "0123456789abcdef" };
    const mcpWeb = await bridge.page(options);
    const [query, over] = [mcpWeb.query({ prompt: "?" }), mcpWeb.query({ prompt: "!" })];
    await nextQuery(bridge);
    await nextQuery(bridge);
    complete(bridge, over, { result: "" });
    await over.result;
    const session = (name = "Reloaded") => new TabSession({ name }, mcpWeb.bridgeUrl);
    equal([...session().queries], [], "a copy of the living tab");
    dispatchEvent(new PageTransitionEvent("pagehide"));
    const next = new Bridge();
    const page = await next.page(options);
    equal([page.sessionId, page.openQueries], [mcpWeb.sessionId, [query.uuid]]);
    equal([...session().queries], [], "taken");
    const attached = page.attachQuery(query.uuid);
    equal(await next.next("query_attach"), { type: "query_attach", uuid: query.uuid });
    say(next, query, "accepted");
    progress(next, query, text("kept"), 7);
    equal(attached.state, "running");
    const toolCalls = [{ tool: "order", arguments: { a: 1 }, result: "ok" }];
    complete(next, query, { toolCalls });
    equal(await attached.result, { response: { arguments: { a: 1 }, result: "ok" }, toolCalls });
    equal([await read(attached), page.openQueries], [[text("kept")], []]);
  },

  async "a query of a former document that is no longer known fails, and is removed"() {
    const key = "mcp-web:session:http://bridge.example:Gone";
    sessionStorage.setItem(key, "former-session u-1 u-2");
    const bridge = new Bridge();
    const mcpWeb = await bridge.page({ name: "Gone", storage: "session", bridgeUrl: "http://bridge.example" });
    equal([mcpWeb.sessionId, mcpWeb.openQueries], ["former-session", ["u-1", "u-2"]]);
    const query = mcpWeb.attachQuery("u-1");
    await bridge.next("query_attach");
    say(bridge, query, "failure", { code: "QueryNotFound", error: "there is no such query" });
    await rejects(query.result, { code: "QueryNotFound" });
    equal(mcpWeb.openQueries, ["u-2"]);
  },

  async "this document's own queries can also be resumed"() {
    const { bridge, mcpWeb, query } = await asking();
    const again = mcpWeb.attachQuery(query.uuid);
    await settled();
    say(bridge, query, "accepted");
    progress(bridge, query, text("a"));
    complete(bridge, query, { result: "a" });
    equal([await read(again), (await again.result).text, again.uuid], [[text("a")], "a", query.uuid]);
    assert(!bridge.has("query_attach"));
  },

  async "a session id set by the app keeps its queries over a reload"() {
    const options = ["own", { sessionId: "my session" }];
    const session = () => new TabSession({ name: options[0], ...options[1] }, "http://bridge.example");
    session().queries.add("u-1").add("u-2");
    dispatchEvent(new PageTransitionEvent("pagehide"));
    const { id, queries } = session();
    equal([id, [...queries]], ["my session", ["u-1", "u-2"]]);
    dispatchEvent(new PageTransitionEvent("pagehide"));
    session();
  },
};

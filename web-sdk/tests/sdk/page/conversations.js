/** Conversations of a page. */

import { nextQuery } from "./asking.js";
import { assert, equal, rejects } from "./assert.js";
import { Bridge } from "./bridge.js";

export default {
  async "a conversation is named in its queries, and stored by the agent"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    const conversation = mcpWeb.conversation();
    assert(/^[0-9a-f-]{36}$/.test(conversation.id), conversation.id);
    conversation.query({ prompt: "?" });
    equal((await nextQuery(bridge)).conversation, conversation.id);
    const asked = [];
    const { fetch } = globalThis;
    const answers = [
      Response.json({ conversations: [{ id: "c" }] }),
      Response.json({ messages: [{ role: "user", text: "?" }] }),
      Response.json({ code: "ConversationNotFound" }, { status: 404 }),
      new Response(null, { status: 204 }),
      Response.json({ error: "AgentNotConfigured", message: "the bridge has no agent" }, { status: 503 }),
    ];
    globalThis.fetch = async (url, { method, headers }) => {
      asked.push(`${method} ${new URL(url).pathname}${new URL(url).search}`);
      equal(headers.authorization, `Bearer ${mcpWeb.authToken}`);
      return answers.shift();
    };
    try {
      const named = mcpWeb.conversation({ id: "a/b" });
      equal(await mcpWeb.conversations(), [{ id: "c" }]);
      equal(await named.history(), [{ role: "user", text: "?" }]);
      equal(await named.history(), []);
      await named.clear();
      await rejects(named.clear(), { code: "AgentNotConfigured", message: /has no agent/ });
      for (const id of [".", ".."]) {
        const refused = { code: "QueryInvalid", message: /is not the id of a conversation/ };
        await rejects(mcpWeb.conversation({ id }).history(), refused);
        await rejects(mcpWeb.conversation({ id }).clear(), refused);
      }
    } finally {
      globalThis.fetch = fetch;
    }
    const session = `?sessionId=${mcpWeb.sessionId}`;
    const one = `/conversations/a%2Fb${session}`;
    equal(asked, [`GET /conversations${session}`, `GET ${one}`, `GET ${one}`, `DELETE ${one}`, `DELETE ${one}`]);
  },

  async "a request for conversations times out, is sent only with a token, and its answer must be JSON"() {
    const mcpWeb = await new Bridge().page();
    const { McpWeb } = await import("./mcp-web.js");
    const { fetch } = globalThis;
    const { timeout } = AbortSignal;
    let answer;
    globalThis.fetch = async () => answer();
    try {
      for (const text of ["", "<html>", "7", "null"]) {
        answer = () => new Response(text);
        await rejects(mcpWeb.conversations(), { code: "AgentFailed", message: /HTTP 200 without JSON/ });
      }
      answer = () => new Response("Bad gateway", { status: 502 });
      await rejects(mcpWeb.conversations(), { code: "AgentFailed", message: /HTTP 502/ });
      let asked;
      AbortSignal.timeout = (ms) => AbortSignal.abort(new DOMException(`${ms} ms`, "TimeoutError"));
      globalThis.fetch = async (_, { signal }) => {
        asked = signal.reason.message;
        throw signal.reason;
      };
      await rejects(mcpWeb.conversations(), { code: "BridgeUnreachable" });
      equal(asked, "60000 ms");
      globalThis.fetch = () => assert(false, "a request without a token");
      const early = new McpWeb({ name: "No token", storage: "none", autoConnect: false, authToken: async () => "t".repeat(16) });
      await rejects(early.conversations(), { code: "MissingAuthentication", message: /wait until mcpWeb.status is connected/ });
    } finally {
      globalThis.fetch = fetch;
      AbortSignal.timeout = timeout;
    }
  },
};

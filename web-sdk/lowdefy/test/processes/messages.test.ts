import assert from "node:assert/strict";
import { test } from "node:test";

import { checkProcessMessage, checkToolResult, errorOf, failureOf } from "../../src/processes/messages.ts";

const hostCall = (message: object) => ({ type: "hostCall", id: 1, method: "page", sessionId: "s", opening: 1, input: {}, ...message });

test("messages of a process contain only known members", () => {
  assert.deepEqual(checkProcessMessage(hostCall({ user: "somebody else" })), hostCall({}));
  assert.deepEqual(checkProcessMessage({ type: "started", more: 1 }), { type: "started" });
  assert.deepEqual(checkProcessMessage({ type: "log", text: "one\r\ntwo\u001b[0m" }), { type: "log", text: "one two [0m" });
  const failure = { message: "m", code: "Unauthorized", reason: "not a word", data: {}, stack: "s", isLost: 1 };
  assert.deepEqual(checkProcessMessage({ type: "failure", id: 1, failure }), { type: "failure", id: 1, failure: { message: "m" } });
});

test("input that is not a message is rejected", () => {
  const rows = [null, 1, "text", [], {}, { type: "pong" }, { type: "pong", id: "1" }, { type: "result", id: 1.5 }, { type: "failure", id: 1 }, { type: "failure", id: 1, failure: {} }];
  const hostCalls = [{ method: "secrets" }, { method: "toString" }, { sessionId: 1 }, { opening: "1" }, { input: null }, { input: [] }, { id: {} }].map(hostCall);
  for (const row of [...rows, ...hostCalls]) assert.throws(() => checkProcessMessage(row), /^Error: it has /, JSON.stringify(row));
});

test("a result of a tool consists of text and facts", () => {
  const facts = { pageId: "p" };
  const result = { content: [{ type: "text", text: "t", annotations: {} }], _meta: { "mcp-web/page": facts, other: 1 }, structuredContent: {}, isError: "yes" };
  assert.deepEqual(checkToolResult("interact", result), { content: [{ type: "text", text: "t" }], _meta: { "mcp-web/page": facts } });
  const rows = [null, "text", {}, { content: "text" }, { content: [{ type: "image", data: "" }] }, { content: [{ type: "text", text: 1 }] }, { content: [] }, { content: [], _meta: { "mcp-web/page": [] } }];
  for (const row of rows) assert.throws(() => checkToolResult("snapshot", row), /^Error: it has sent a result/, JSON.stringify(row));
});

test("errors keep the members that callers use", () => {
  const error = Object.assign(new Error("m"), { name: "RequestError", code: "InvalidArguments", data: { reason: "PageUnknown", secret: 1 } });
  const copy = errorOf(failureOf(error)) as typeof error;
  assert.deepEqual([copy.message, copy.name, copy.code, copy.data], ["m", "RequestError", "InvalidArguments", { reason: "PageUnknown" }]);
  assert.equal(errorOf(failureOf("thrown")).message, "thrown");
});

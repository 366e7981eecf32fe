// Users of one host: their roles, and the processes that they share the computer with.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";

import { listen } from "../http.mjs";
import { caller, childrenOf, makeFolder, makeToken, openSession, sessionOf, startData, startHost, textOf } from "./host.mjs";

const JWT_SECRET = "a secret of at least thirty-two characters";

/** Starts a bridge that takes signed tokens. Returns its address. */
async function startBridge(t) {
  const args = ["bridge", "--bind", "127.0.0.1:0", "--jwt-issuer", "https://issuer.example", "--jwt-audience", "mcp-web", "--until-stdin-ends"];
  const bridge = spawn(process.env.MCP_WEB_PROGRAM, args, { env: { ...process.env, MCP_WEB_JWT_SECRET: JWT_SECRET }, stdio: ["pipe", "pipe", "ignore"] });
  t.after(() => bridge.kill());
  for await (const line of createInterface({ input: bridge.stdout })) {
    const url = /listening on (http:\/\/\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error("the bridge has ended before it listened");
}

function sign(claims) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const common = { iss: "https://issuer.example", aud: "mcp-web", exp: Math.floor(Date.now() / 1000) + 600, scope: "page tools:read tools:call" };
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ ...common, ...claims })}`;
  return `${signed}.${createHmac("sha256", JWT_SECRET).update(signed).digest("base64url")}`;
}

test("a signed token has its own roles, and none if it names none", async (t) => {
  const url = await startBridge(t);
  const token = sign({ sub: "ada" });
  await startHost(t, { token, data: await startData(t), args: ["--bridge", url, "--roles", "admin"] });
  const pagesOf = async (claims) => {
    const { call } = await openSession({ call: caller(sign({ sub: "ada", ...claims }), url) });
    return (await call("get_pages")).structuredContent.pages.map(({ pageId }) => pageId);
  };
  for (const claims of [{}, { roles: [] }, { roles: "" }, { roles: ["Admin"] }, { roles: ["admin,x"] }, { roles: { admin: true } }, { groups: ["admin"] }]) {
    assert.deepEqual(await pagesOf(claims), ["orders", "order", "details"], JSON.stringify(claims));
  }
  for (const roles of [["admin"], ["x", "admin"], "x admin"]) assert.ok((await pagesOf({ roles })).includes("report"), JSON.stringify(roles));
  // One session, used with tokens of other roles.
  const { sessionId } = await openSession({ call: caller(sign({ sub: "ada", roles: ["admin", "x"] }), url) });
  const pages = async (roles) => JSON.stringify((await sessionOf(caller(sign({ sub: "ada", roles }), url), sessionId).call("get_pages")).structuredContent);
  assert.match(await pages(["admin", "x"]), /report/);
  assert.doesNotMatch(await pages(["admin,x"]), /report/);
});

test("more users than processes take turns, and lose nothing", async (t) => {
  const tokens = Array.from({ length: 3 }, makeToken);
  const host = await startHost(t, { data: await startData(t), token: tokens, args: ["--max-processes", "1"] });
  const users = [];
  for (const [index, token] of tokens.entries()) {
    const user = await openSession({ call: caller(token) });
    await user.call("navigate", { pageId: "order", view: "none" });
    await user.interact({ type: "setValue", ref: "customer", value: `Customer ${index}` });
    users.push(user);
  }
  const states = await Promise.all(users.map(({ state }) => state()));
  assert.deepEqual(states.map(({ state }) => state.customer), ["Customer 0", "Customer 1", "Customer 2"]);
  assert.ok((await childrenOf(host.child.pid)).length <= 2);
});

test("a process ends when its user does nothing, and the session stays", async (t) => {
  const host = await startHost(t, { data: await startData(t), args: ["--process-idle", "1"] });
  const { call, interact, state } = await openSession(host);
  await call("navigate", { pageId: "order", view: "none" });
  await interact({ type: "setValue", ref: "customer", value: "Acme" });
  const [process] = await childrenOf(host.child.pid);
  while ((await childrenOf(host.child.pid)).includes(process)) {
    await new Promise((resolve) => setTimeout(resolve, 20)); // sleep: the end of a process that is not a child of this one causes no event
  }
  assert.equal((await state()).state.customer, "Acme");
  assert.match(textOf(await call("page_snapshot")), /Acme/);
});

test("a call that was cancelled leaves its place to others, whatever it waits for", async (t) => {
  const server = createServer((_, response) => response.setHeader("content-type", "application/json").end("{}"));
  const { url, close } = await listen(server);
  t.after(close);
  const request = { id: "load", type: "AxiosHttp", connectionId: "server", properties: {} };
  const page = { id: "p", type: "Box", requests: [request], events: { onInit: [{ id: "load", type: "Request", params: "load" }] } };
  const config = await makeFolder(t);
  await writeFile(join(config, "lowdefy.yaml"), JSON.stringify({ lowdefy: "4.0.0-rc.11", connections: [{ id: "server", type: "AxiosHttp", properties: { url } }], pages: [page] }));
  const tokens = [makeToken(), makeToken()];
  await startHost(t, { config, token: tokens, args: ["--max-processes", "1"] });
  const [one, two] = tokens.map((token) => caller(token));
  // The first request is never answered.
  const answer = server.listeners("request")[0];
  server.removeAllListeners("request");
  const controller = new AbortController();
  const waiting = one("session_create", { name: "waits" }, { signal: controller.signal }).catch(() => "cancelled");
  await once(server, "request");
  server.on("request", answer);
  controller.abort();
  assert.equal(await waiting, "cancelled");
  assert.ok((await openSession({ call: two })).sessionId);
});

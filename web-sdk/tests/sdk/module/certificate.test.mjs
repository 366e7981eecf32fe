// A program in Node whose bridge has a certificate that is not accepted. The test gets a key, and a certificate for the host
// `localhost` that the key has signed itself.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { McpWebError } from "../../../js/mcp-web/error.ts";
import { RestrictionMonitor } from "../../../js/node/browser-restrictions.ts";
import { certificateProblem } from "../../../js/node/certificate.ts";

const { CERTIFICATE: cert, CERTIFICATE_KEY: key } = process.env;
const MODULE = new URL("../../../js/node/certificate.ts", import.meta.url).href;

/** Starts a server that answers every request with 404, as a bridge behind a proxy may. */
async function startServer(t) {
  const server = createServer({ cert, key }, (_, response) => response.writeHead(404).end());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return server.address().port;
}

/** Returns the finding of another process, which trusts the certificate. */
async function problemWithTrust(t, url) {
  const folder = await mkdtemp(join(tmpdir(), "mcp-web-certificate-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "authority.pem");
  await writeFile(file, cert);
  const script = `import { certificateProblem } from ${JSON.stringify(MODULE)};
    console.log(JSON.stringify(await certificateProblem(${JSON.stringify(url)}) ?? null));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file, NODE_TEST_CONTEXT: undefined },
  });
  return JSON.parse(stdout);
}

test("a certificate of an unknown authority is named with the variable that adds it", async (t) => {
  const port = await startServer(t);
  for (const scheme of ["https", "wss"]) {
    const problem = await certificateProblem(`${scheme}://localhost:${port}`);
    assert.match(problem, /certificate of the bridge at https:\/\/localhost:\d+ is not accepted \(\w*CERT\w*\): set NODE_EXTRA_CA_CERTS/);
  }
});

test("with that variable the certificate is accepted, for its host only", async (t) => {
  const port = await startServer(t);
  assert.equal(await problemWithTrust(t, `https://localhost:${port}`), null);
  const problem = await problemWithTrust(t, `https://127.0.0.1:${port}`);
  assert.match(problem, /\(ERR_TLS_CERT_ALTNAME_INVALID\): it is for another host/);
});

test("other failures are not about certificates", async () => {
  assert.equal(await certificateProblem("https://localhost:1"), undefined);
  assert.equal(await certificateProblem("http://localhost:1"), undefined);
});

test("the status and the console show the certificate instead of an unreachable bridge", async (t) => {
  const port = await startServer(t);
  const warnings = [];
  t.mock.method(console, "warn", (text) => warnings.push(text));
  const shown = [];
  let certificateShown;
  const found = new Promise((resolve) => (certificateShown = resolve));
  const monitor = new RestrictionMonitor({
    bridgeUrl: `https://localhost:${port}`,
    McpWebError,
    show: (status) => {
      shown.push(status);
      if (/NODE_EXTRA_CA_CERTS/.test(status.error?.message)) certificateShown();
    },
  });
  const unreachable = new McpWebError("BridgeUnreachable", "no bridge answers");
  monitor.onStatus({ state: "reconnecting", error: unreachable, retryInMs: 10 });
  await found;
  monitor.onStatus({ state: "reconnecting", error: unreachable });
  assert.deepEqual(shown.map(({ state, error, retryInMs }) => [state, error.code, retryInMs]), [
    ["reconnecting", "BridgeUnreachable", 10],
    ["reconnecting", "BridgeUnreachable", 10],
    ["reconnecting", "BridgeUnreachable", undefined],
  ]);
  assert.match(shown[2].error.message, /NODE_EXTRA_CA_CERTS/);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /NODE_EXTRA_CA_CERTS/);
  // Other errors, and a connection, are shown unchanged.
  const lost = new McpWebError("ConnectionLost", "it broke");
  monitor.onStatus({ state: "reconnecting", error: lost });
  assert.equal(shown.at(-1).error, lost);
  monitor.onStatus({ state: "connected" });
  assert.deepEqual(shown.at(-1), { state: "connected" });
});

test("the certificate is named also if the bridge was down before, and only until it is down again", async (t) => {
  const port = await startServer(t);
  const warnings = [];
  t.mock.method(console, "warn", (text) => warnings.push(text));
  let shown;
  const page = { bridgeUrl: "https://localhost:1", McpWebError, show: ({ error }) => (shown = error.message) };
  const monitor = new RestrictionMonitor(page);
  const fail = () => {
    const error = new McpWebError("BridgeUnreachable", "no bridge answers");
    monitor.onStatus({ state: "reconnecting", error, retryInMs: 10 });
  };
  const until = async (condition) => {
    while (!condition()) await new Promise(setImmediate);
  };
  fail();
  await until(() => warnings.length === 1);
  page.bridgeUrl = `https://localhost:${port}`;
  fail();
  await until(() => /NODE_EXTRA_CA_CERTS/.test(shown));
  page.bridgeUrl = "https://localhost:1";
  fail();
  await until(() => shown === "no bridge answers");
  assert.equal(warnings.length, 2);
  assert.match(warnings[0], /no bridge answers/);
  assert.match(warnings[1], /NODE_EXTRA_CA_CERTS/);
});

// The process of a user is not trusted: whatever it does, another user of the same host notices nothing.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { childrenOf, reasonOf, textOf } from "./host.mjs";
import { SECRET, setState, startTwo, unnoticed } from "./two-users.mjs";

/** An app that lets its users run code, in their own processes. */
const APP = {
  lowdefy: "4.0.0-rc.11",
  mcp: { dynamicOperators: ["_nunjucks"], limits: { maxCallCpuMs: 3000, maxStateBytes: 1_000_000 } },
  // Nothing listens there.
  connections: [{ id: "server", type: "AxiosHttp", properties: { url: "http://127.0.0.1:9" } }],
  pages: [
    {
      id: "p",
      type: "Box",
      requests: [{ id: "refused", type: "AxiosHttp", connectionId: "server" }],
      blocks: [
        { id: "name", type: "TextInput" },
        { id: "rendered", type: "Paragraph", properties: { content: { _nunjucks: { template: { _if_none: [{ _state: "template" }, ""] }, on: {} } } } },
      ],
    },
  ],
};

/** Runs code in the process of a user, and returns its result as a text. */
async function run(user, code) {
  const template = `{{ range.constructor(${JSON.stringify(code)})() }}`;
  const answer = await user.interact(setState({ template }));
  return answer.isError || reasonOf(answer) ? answer : { answer, text: textOf(await user.call("page_snapshot")) };
}

const runsAgain = async (user) => assert.match(textOf(await user.call("page_snapshot")), /Page: p/);

test("code in a process reaches no secret, file, process or other user", async (t) => {
  const { host, attacker } = await startTwo(t, APP);
  const attempts = {
    variables: "return JSON.stringify(process.env)",
    "own environment": 'return process.getBuiltinModule("fs").readFileSync("/proc/self/environ", "utf8")',
    "environment of the host": 'return process.getBuiltinModule("fs").readFileSync("/proc/" + process.ppid + "/environ", "utf8")',
    "memory of the host": 'return process.getBuiltinModule("fs").openSync("/proc/" + process.ppid + "/mem")',
    "tokens and sessions": `return process.getBuiltinModule("fs").readdirSync(${JSON.stringify(host.store)})`,
    "other files": 'return process.getBuiltinModule("fs").readFileSync("/etc/passwd", "utf8")',
    writing: 'return process.getBuiltinModule("fs").writeFileSync("/tmp/mcp-web-lowdefy-written", "")',
    programs: 'return process.getBuiltinModule("child_process").execSync("id")',
    threads: 'return new (process.getBuiltinModule("worker_threads").Worker)("1", { eval: true })',
    debugger: 'return process.getBuiltinModule("inspector").open(0)',
    signals: "return process.kill(process.ppid)",
    bindings: 'return process.binding("fs")',
    "flags of V8": 'return process.getBuiltinModule("v8").setFlagsFromString("--trace-turbo")',
    databases: 'return new (process.getBuiltinModule("node:sqlite").DatabaseSync)("/tmp/mcp-web-lowdefy-written")',
    reports: 'process.report.directory = "/tmp"; return 1',
    "priority of the host": 'return process.getBuiltinModule("os").setPriority(process.ppid, 19)',
    "sockets with a path": 'return process.getBuiltinModule("net").connect("/var/run/docker.sock")',
    "sockets with a path in options": 'return process.getBuiltinModule("http").get({ socketPath: "/var/run/docker.sock" })',
    servers: 'return new (process.getBuiltinModule("net").Server)().listen("/tmp/mcp-web-lowdefy-written")',
  };
  // The modules of imports have the same functions.
  const imports = { "flags of V8, imported": ["node:v8", "setFlagsFromString"], "databases, imported": ["node:sqlite", "DatabaseSync"], "priority, imported": ["node:os", "setPriority"], "kill, imported": ["node:process", "kill"] };
  for (const [name, [module, member]] of Object.entries(imports)) {
    // An import ends after the template, so that its result is read by the next one.
    await run(attacker, `globalThis.imported = "none"; import(${JSON.stringify(module)}).then((all) => (globalThis.imported = typeof all[${JSON.stringify(member)}] + typeof all.default?.[${JSON.stringify(member)}]), (error) => (globalThis.imported = error.code)); return "importing"`);
    const { text } = await run(attacker, `return ${JSON.stringify(name)} + ": " + globalThis.imported`);
    assert.match(text, new RegExp(`${name}: (undefinedundefined|ERR_\\w+)`), text);
  }
  for (const [name, code] of Object.entries(attempts)) {
    const { text = "", answer } = await run(attacker, `try { return "[" + (${JSON.stringify(name)}) + "] " + (() => { ${code} })() } catch (error) { return "refused: " + (error.code ?? error.name) }`);
    const isHarmless = name === "variables" ? /\[variables\] \{/.test(text) : /refused: (ERR_ACCESS_DENIED|TypeError)/.test(text);
    assert.ok(isHarmless, `${name}: ${text || JSON.stringify(answer)}`);
    assert.ok(!text.includes(SECRET) && !text.includes("LOWDEFY"), text);
  }
  assert.equal(host.child.exitCode, null);
});

/** Returns the id of the process of a user. */
async function pidOf(user) {
  const { text } = await run(user, 'return "pid " + process.pid');
  return Number(/pid (\d+)/.exec(text)[1]);
}

test("a process that is killed ends its own calls", async (t) => {
  const two = await startTwo(t, APP);
  const answer = await unnoticed(t, two, "killed", async () => {
    const pid = await pidOf(two.attacker);
    assert.ok((await childrenOf(two.host.child.pid)).includes(pid));
    const waiting = two.attacker.interact({ type: "waitFor", text: "never there", ms: 5000 });
    await two.attacker.call("get_pages");
    process.kill(pid, "SIGKILL");
    return waiting;
  });
  assert.equal(reasonOf(answer), "ProcessEnded", JSON.stringify(answer));
  assert.match(JSON.stringify(answer), /was ended by SIGKILL/);
  await runsAgain(two.attacker);
});

for (const [name, code] of Object.entries({
  heap: "const all = []; for (;;) all.push(new Array(1000).fill(0.5 + all.length))",
  buffers: "const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1))",
})) {
  test(`a process that is out of memory ends its own calls: ${name}`, async (t) => {
    const two = await startTwo(t, APP, { args: ["--process-memory", "150"] });
    const answer = await unnoticed(t, two, `out of memory, ${name}`, () => run(two.attacker, code));
    assert.match(JSON.stringify(answer), /needed more than 150 MB \(--process-memory\)/);
    assert.equal(reasonOf(answer), "ProcessOutOfMemory");
    await runsAgain(two.attacker);
  });
}

test("a process that is stopped ends its own calls", async (t) => {
  const two = await startTwo(t, APP);
  const answer = await unnoticed(t, two, "stopped", async () => {
    process.kill(await pidOf(two.attacker), "SIGSTOP");
    return two.attacker.call("page_snapshot");
  });
  assert.match(JSON.stringify(answer), /did not answer for 10 s/);
  assert.equal(reasonOf(answer), "ProcessEnded");
  await runsAgain(two.attacker);
});

test("a process that loops is ended, also when no call is under way", async (t) => {
  const two = await startTwo(t, APP);
  const answer = await unnoticed(t, two, "loop between calls", async () => {
    // The template is part of the session: later processes do not loop.
    await run(two.attacker, `if (Date.now() < ${Date.now() + 2000}) setTimeout(() => { for (;;); }, 100); return 1`);
    return two.attacker.call("page_snapshot");
  });
  assert.match(JSON.stringify(answer), /Page: p|maxCallCpuMs/);
  // Else the loop begins in one of the next calls, or has no time left to begin.
  const end = Date.now() + 3000;
  let later = answer;
  while (!/maxCallCpuMs/.test(JSON.stringify(later)) && Date.now() < end) later = await two.attacker.call("page_snapshot");
  await runsAgain(two.attacker);
});

/** Code for a line that calls the host. */
const hostCall = (method, input) => `JSON.stringify({ type: "hostCall", id: 1, method: ${JSON.stringify(method)}, sessionId: SESSION, opening: 1, input: ${input} }) + "\\n"`;
const STANDARD_ERROR = "standard error";
const FLOODS = {
  lines: `'{"type":"log","text":"x"}\\n'.repeat(1000)`,
  "one line": `"x".repeat(60000)`,
  "calls of the host": hostCall("pages", "{}"),
  "calls for pages": hostCall("page", '{ pageId: "p" }'),
  sessions: hostCall("save", '{ pageId: "p", saved: "x".repeat(1000) }'),
  "sessions of small values": hostCall("save", '{ pageId: "p", saved: Array(50_000).fill({}) }'),
  requests: hostCall("request", '{ pageId: "p", requestId: "refused", blockId: "name" }'),
  "requests of small values": hostCall("request", '{ pageId: "p", requestId: "refused", blockId: "name", payload: Array(9_000).fill({}) }'),
  "small values": `'{"type":"pong","id":0,"x":[' + "{},".repeat(500_000) + '0]}\\n'`,
  "nested values": `'{"type":"pong","id":0,"x":' + "[".repeat(1_000_000) + "]".repeat(1_000_000) + '}\\n'`,
  [STANDARD_ERROR]: `"€".repeat(20000)`,
};
for (const [name, text] of Object.entries(FLOODS)) {
  test(`a process that floods its host slows down no other user: ${name}`, async (t) => {
    const two = await startTwo(t, APP);
    const fd = name === STANDARD_ERROR ? 2 : 3;
    const write = `for (let at = 0; at < text.length; ) try { at += writeSync(${fd}, text, at) } catch {}`;
    const code = `const SESSION = ${JSON.stringify(two.attacker.sessionId)}; const { writeSync } = process.getBuiltinModule("fs"); const text = Buffer.from(${text}); for (;;) { ${write} }`;
    const answer = await unnoticed(t, two, `flood of ${name}`, () => run(two.attacker, code));
    assert.match(reasonOf(answer) ?? "", /CallTooLong|ProcessEnded/, JSON.stringify(answer));
    const kilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${two.host.child.pid}/status`, "utf8"))[1]);
    t.diagnostic(`flood of ${name}: the host needed ${(kilobytes / 1024).toFixed(0)} MB at most`);
    assert.ok(kilobytes < 300 * 1024, `${kilobytes} kB`);
    // It has saved only its own session.
    const page = await two.attacker.call("page_snapshot");
    if (page.isError) assert.match(textOf(page), /the session could not be opened again: .*close it and create another one/);
  });
}

test("a process that lies ends its own calls", async (t) => {
  const users = () => startTwo(t, APP, { attackers: 3 });
  let two = await users();
  const messages = () => [
    { type: "result", id: 999, value: {} },
    { type: "result", id: "1" },
    { type: "failure", id: 1 },
    { type: "hostCall", id: 1, method: "secrets", sessionId: two.other.sessionId, opening: 1, input: {} },
    { type: "NODE_HANDLE" },
    null,
    "not a message",
    [],
    // The call that is under way.
    { type: "result", id: 2, value: { content: 5 } },
    { type: "failure", id: 2, failure: {} },
  ];
  await unnoticed(t, two, "lies", async () => {
    const lies = [...messages().map((message) => JSON.stringify(message)), "{", "[".repeat(100_000)];
    for (const [index, lie] of lies.entries()) {
      const attacker = two.attackers[index % 3];
      const code = `process.getBuiltinModule("fs").writeSync(3, ${JSON.stringify(`${lie}\n`)}); for (;;);`;
      const answer = await run(attacker, code);
      assert.equal(reasonOf(answer), "ProcessEnded", `${lie.slice(0, 100)}: ${JSON.stringify(answer)}`);
      await runsAgain(attacker);
    }
  }, { renew: async () => (two = await users()) });
});

test("a user whose processes fail again and again waits", async (t) => {
  // Each attempt needs a user who has not failed.
  let two = await startTwo(t, APP);
  const exits = async () => {
    for (let index = 0; index < 5; index += 1) assert.equal(reasonOf(await run(two.attacker, "process.exit(7)")), "ProcessEnded");
    return run(two.attacker, "process.exit(7)");
  };
  const last = await unnoticed(t, two, "process.exit()", exits, { renew: async () => (two = await startTwo(t, APP)) });
  assert.equal(reasonOf(last), "TooManyFaults", JSON.stringify(last));
});

test("a process that calls for what is not its user's gets nothing", async (t) => {
  const two = await startTwo(t, APP);
  const { sessionId } = two.other;
  const hostCalls = [
    { method: "page", sessionId, input: { pageId: "p" } },
    { method: "save", sessionId, input: { pageId: "p", saved: {} } },
    { method: "page", sessionId: two.attacker.sessionId, input: { pageId: "../config" } },
    { method: "request", sessionId: two.attacker.sessionId, input: { pageId: "p", blockId: "b", requestId: "../../../config", payload: {} } },
    { method: "request", sessionId: two.attacker.sessionId, input: { pageId: "../..", blockId: "b", requestId: "x", payload: {} } },
  ].map((call, index) => ({ type: "hostCall", id: 1_000_000 + index, opening: 1, ...call }));
  const before = await two.other.state();
  // The process does not know these ids, and drops the answers: the host has written them, or it has not.
  const code = `const { writeSync } = process.getBuiltinModule("fs"); for (const text of ${JSON.stringify(hostCalls.map((call) => `${JSON.stringify(call)}\n`))}) writeSync(3, text); return "sent"`;
  const { text } = await run(two.attacker, code);
  assert.match(text, /sent/);
  await runsAgain(two.attacker);
  assert.deepEqual(await two.other.state(), before);
  await runsAgain(two.other);
});

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
  // Nobody answers there.
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
  };
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
  await runsAgain(two.attacker);
});

const ask = (question, input) => `JSON.stringify({ type: "ask", id: 1, question: ${JSON.stringify(question)}, sessionId: SESSION, input: ${JSON.stringify(input)} }) + "\\n"`;
const FLOODS = {
  lines: `'{"type":"log","text":"x"}\\n'.repeat(1000)`,
  "one line": `"x".repeat(60000)`,
  questions: ask("pages", {}),
  "questions for pages": ask("page", { pageId: "p" }),
  sessions: ask("save", { pageId: "p", saved: "x".repeat(1000) }),
  requests: ask("request", { pageId: "p", requestId: "refused", blockId: "name" }),
};
for (const [name, text] of Object.entries(FLOODS)) {
  test(`a process that floods its channel slows down nobody: ${name}`, async (t) => {
    const two = await startTwo(t, APP);
    const code = `const SESSION = ${JSON.stringify(two.attacker.sessionId)}; const { writeSync } = process.getBuiltinModule("fs"); const text = ${text}; for (;;) try { writeSync(3, text) } catch {}`;
    const answer = await unnoticed(t, two, `flood of ${name}`, () => run(two.attacker, code));
    assert.match(reasonOf(answer) ?? "", /CallTooLong|ProcessEnded/, JSON.stringify(answer));
    const kilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${two.host.child.pid}/status`, "utf8"))[1]);
    t.diagnostic(`flood of ${name}: the host needed ${(kilobytes / 1024).toFixed(0)} MB at most`);
    assert.ok(kilobytes < 300 * 1024, `${kilobytes} kB`);
    // What it has saved is its own session.
    const page = await two.attacker.call("page_snapshot");
    if (page.isError) assert.match(textOf(page), /the session could not be opened again: .*close it and create another one/);
  });
}

test("a process that lies ends its own calls", async (t) => {
  const two = await startTwo(t, APP, { attackers: 3 });
  const messages = [
    { type: "result", id: 999, value: {} },
    { type: "result", id: "1" },
    { type: "failure", id: 1 },
    { type: "ask", id: 1, question: "secrets", sessionId: two.other.sessionId, input: {} },
    { type: "NODE_HANDLE" },
    null,
    "not a message",
    [],
  ];
  const lies = [...messages.map((message) => JSON.stringify(message)), "{", "[".repeat(100_000)];
  await unnoticed(t, two, "lies", async () => {
    for (const [index, lie] of lies.entries()) {
      const attacker = two.attackers[index % 3];
      const code = `process.getBuiltinModule("fs").writeSync(3, ${JSON.stringify(`${lie}\n`)}); for (;;);`;
      const answer = await run(attacker, code);
      assert.equal(reasonOf(answer), "ProcessEnded", `${lie.slice(0, 100)}: ${JSON.stringify(answer)}`);
      await runsAgain(attacker);
    }
  }, { attempts: 1 });
});

test("a user whose processes fail again and again waits", async (t) => {
  const two = await startTwo(t, APP);
  const last = await unnoticed(t, two, "process.exit()", async () => {
    for (let index = 0; index < 5; index += 1) assert.equal(reasonOf(await run(two.attacker, "process.exit(7)")), "ProcessEnded");
    return run(two.attacker, "process.exit(7)");
  }, { attempts: 1 });
  assert.equal(reasonOf(last), "TooManyFaults", JSON.stringify(last));
});

test("a process that asks for what is not its user's gets nothing", async (t) => {
  const two = await startTwo(t, APP);
  const { sessionId } = two.other;
  const questions = [
    { question: "page", sessionId, input: { pageId: "p" } },
    { question: "save", sessionId, input: { pageId: "p", saved: {} } },
    { question: "page", sessionId: two.attacker.sessionId, input: { pageId: "../config" } },
    { question: "request", sessionId: two.attacker.sessionId, input: { pageId: "p", blockId: "b", requestId: "../../../config", payload: {} } },
    { question: "request", sessionId: two.attacker.sessionId, input: { pageId: "../..", blockId: "b", requestId: "x", payload: {} } },
  ].map((question, index) => ({ type: "ask", id: 1_000_000 + index, ...question }));
  const before = await two.other.state();
  // The process does not know these ids, and drops the answers: the host has written them, or it has not.
  const code = `const { writeSync } = process.getBuiltinModule("fs"); for (const text of ${JSON.stringify(questions.map((question) => `${JSON.stringify(question)}\n`))}) writeSync(3, text); return "asked"`;
  const { text } = await run(two.attacker, code);
  assert.match(text, /asked/);
  await runsAgain(two.attacker);
  assert.deepEqual(await two.other.state(), before);
  await runsAgain(two.other);
});

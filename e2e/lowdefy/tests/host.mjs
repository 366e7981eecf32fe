// Starts hosts of Lowdefy apps at the bridge that BRIDGE_URL names, and calls their tools.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { randomBytes } from "node:crypto";

import { SECRETS, startDataServer } from "../data-server.mjs";

export const APP = new URL("../app", import.meta.url).pathname;
const COMMAND = new URL("../node_modules/mcp-web-lowdefy/dist/mcp-web-lowdefy.js", import.meta.url).pathname;
const { BRIDGE_URL } = process.env;

const endings = new WeakMap();

/** Does something when the test has ended, and before what was asked for earlier: a process ends before its folder is removed. */
function atEnd(t, work) {
  const works = endings.get(t) ?? [];
  works.unshift(work);
  if (endings.has(t)) return;
  endings.set(t, works);
  t.after(async () => {
    const results = [];
    for (const work of works) results.push(...(await Promise.allSettled([work()])));
    for (const { reason } of results) if (reason) throw reason;
  });
}

/** Makes a folder that is removed when the test has ended. */
export async function makeFolder(t) {
  const folder = await mkdtemp(join(tmpdir(), "mcp-web-lowdefy-test-"));
  atEnd(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

export const makeToken = () => randomBytes(24).toString("base64url");

/** Starts the server that the app's requests go to. */
export async function startData(t) {
  const data = await startDataServer();
  atEnd(t, () => data.close());
  const get = async (path) => (await fetch(`${data.url}${path}`)).json();
  return { url: data.url, log: () => get("/log"), inits: () => get("/inits") };
}

/** The environment with the secrets of the app. */
export function secretsFor(data) {
  const values = { DATA_URL: data?.url ?? "http://127.0.0.1:9", ...SECRETS };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`LOWDEFY_SECRET_${name}`, value]));
}

/** Runs the command. `exited` is its exit code; `lines` is what it has printed. */
export function runCommand(t, args, { env = {}, stdio = ["pipe", "pipe", "pipe"], shell } = {}) {
  const command = shell ? ["bash", "-c", `${shell}; exec "$0" "$@"`, COMMAND, ...args] : [COMMAND, ...args];
  // Its first line names Node: that of these tests.
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const child = spawn(command[0], command.slice(1), { env: { ...process.env, PATH: path, ...env }, stdio });
  const lines = [];
  const listeners = new Set();
  if (child.stderr) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      for (const listener of listeners) listener();
    });
  }
  const exited = once(child, "exit").then(([code]) => code);
  atEnd(t, () => {
    child.kill("SIGKILL");
    return exited;
  });
  /** Waits until the command has printed a line with this text. */
  const waitForLine = async (text) => {
    const isPrinted = () => lines.some((line) => line.includes(text));
    while (!isPrinted()) {
      const code = await Promise.race([new Promise((resolve) => listeners.add(resolve)), exited.then((code) => ({ code }))]);
      if (code && !isPrinted()) throw new Error(`the command has ended with ${code.code} before it printed "${text}":\n${lines.join("\n")}`);
    }
  };
  return { child, lines, exited, waitForLine };
}

/** A client of MCP over the standard input and output of the command. */
export function stdioClient({ child }) {
  const answers = new Map();
  const lines = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    const { id } = JSON.parse(line);
    answers.get(id)?.(JSON.parse(line));
  });
  let last = 0;
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = (method, params) => {
    const id = ++last;
    send({ id, method, params });
    return new Promise((resolve) => answers.set(id, resolve));
  };
  return { lines, send, request };
}

/** Starts a host for one token, and waits until its tools can be called, if it can report that. */
export async function startHost(t, { config = APP, store, token = makeToken(), data, args = [], env = {}, stdio, shell } = {}) {
  const folder = store ?? (await makeFolder(t));
  const tokenFile = join(await makeFolder(t), "tokens");
  await writeFile(tokenFile, `# tokens of a test\n${[token].flat().join("\n")}\n`);
  const options = ["--config", config, "--bridge", BRIDGE_URL, "--store", folder, "--token-file", tokenFile, ...args];
  const command = runCommand(t, options, { env: { ...secretsFor(data), ...env }, stdio, shell });
  if (command.child.stderr) await command.waitForLine("connected");
  return { ...command, token, store: folder, call: caller(token), kill: (signal) => stop(command, signal) };
}

async function stop({ child, exited }, signal = "SIGKILL") {
  child.kill(signal);
  return exited;
}

/** Returns the processes whose parent is another one. */
export async function childrenOf(pid) {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ").filter(Boolean).map(Number);
}

/** Returns the memory of a host and the processes of its users. What they share counts once. */
export async function memoryOf({ child }) {
  const pids = [child.pid, ...(await childrenOf(child.pid))];
  const rollups = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/smaps_rollup`, "utf8")));
  const megabytes = rollups.map((rollup) => Number(/^Pss:\s+(\d+) kB/m.exec(rollup)[1]) / 1024);
  return { processes: pids.length, megabytes: megabytes.reduce((one, other) => one + other) };
}

/** Returns what calls tools by `POST /tool-call`, with a token. */
export const caller = (token, bridgeUrl = BRIDGE_URL) => async (toolName, toolInput = {}, options = {}) => {
  const response = await fetch(`${bridgeUrl}/tool-call`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ toolName, toolInput }),
    ...options,
  });
  return response.json();
};

/** Opens a session of the app, and returns what calls tools in it. */
export async function openSession({ call }, name = "test") {
  const created = await call("session_create", { name });
  const { sessionId } = created.structuredContent ?? {};
  if (!sessionId) throw new Error(`no session was created: ${JSON.stringify(created)}`);
  return { sessionId, ...sessionOf(call, sessionId) };
}

export function sessionOf(call, sessionId) {
  const inSession = (tool, input = {}, options) => call(tool, { ...input, sessionId }, options);
  return {
    call: inSession,
    interact: (...actions) => inSession("interact", { actions }),
    /** Does all actions, also after one that failed. */
    interactAll: (...actions) => inSession("interact", { actions, onError: "continue" }),
    state: async () => (await inSession("get_state")).structuredContent,
  };
}

export const textOf = (answer) => (answer.content ?? []).map(({ text }) => text).join("\n");
export const reasonOf = (answer) => JSON.stringify(answer).match(/"reason":"(\w+)"/)?.[1];

/** Returns the text of all files in a folder, one after another. */
export async function readAll(folder) {
  const { readdir } = await import("node:fs/promises");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
}

// Code that the drivers of client libraries on Node share: the configuration, the printed lines, and the
// steps that each of them walks through. A driver is started with one argument, a JSON object:
//   {"url": "http://127.0.0.1:3001/mcp", "token": "…"}         Streamable HTTP
//   {"command": "/path", "args": ["…"], "env": {"A": "b"}}     stdio
// and prints one line of JSON for each step.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

// The output is the drivers' own: a library that logs does so on the error output.
console.log = console.info = console.debug = console.error;

/** Where the server is, and how to reach it. */
export const config = JSON.parse(process.argv[2]);

export const onStdio = config.command !== undefined;

/** The headers that a client over HTTP sends with each request. */
export const headers = { Authorization: `Bearer ${config.token}` };

/** The command that a library starts the server with. Libraries pass few variables on; this passes all. */
export const server = {
  command: config.command,
  args: config.args ?? [],
  env: { ...process.env, ...config.env },
};

/** The name and version that this client sends. */
export const clientInfo = { name: "driver", version: "0.1.0" };

/** The person's answer to an elicitation. */
export const answer = { action: "accept", content: { name: "Ada" } };

/** The names of the steps to walk through; all of them if there are none. */
const steps = process.env.MCP_WEB_STEPS?.split(",");

const STEP_DEADLINE = 30_000;
const NEWS_DEADLINE = 10_000;
const LEAVING_DEADLINE = 10_000;
const EXCERPT = 400;

/** `promise`, or an error after this many milliseconds. */
export async function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A library's name and version: those of the package that `specifier` is a module of. */
export function nameAndVersion(specifier) {
  let folder = dirname(fileURLToPath(import.meta.resolve(specifier)));
  for (;;) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (name && version) return `${name} ${version}`;
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    if (folder === dirname(folder)) throw new Error(`no package around ${specifier}`);
    folder = dirname(folder);
  }
}

/** The text blocks of a result's content, as a model reads them. */
export function textOf(content) {
  const texts = content.filter(({ type }) => type === "text").map(({ text }) => text);
  return texts.join("\n");
}

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const messageOf = (error) => String(error?.message ?? error);

/** Does `work` and prints what it returns as the step's line. True if nothing went wrong. */
async function step(name, work) {
  try {
    print({ step: name, ...(await within(STEP_DEADLINE, `end of the step ${name}`, work())) });
    return true;
  } catch (error) {
    print({ step: name, failed: messageOf(error) });
    return false;
  }
}

/** The text of a result, with or without `isError`, or of a thrown error. */
async function textOrError(result) {
  try {
    return textOf((await result).content);
  } catch (error) {
    return messageOf(error);
  }
}

/** An event that happens several times: `next()` resolves when it happens next. */
export function news() {
  let waiting = Promise.withResolvers();
  return {
    tell: () => {
      waiting.resolve();
      waiting = Promise.withResolvers();
    },
    next: () => waiting.promise,
  };
}

const LOADING_CALLS = 4;
const CALLS_BEFORE_RESTART = 20;
const CHECKED_CALLS = 20;

/**
 * Calls `echo` without a break, over a restart of the bridge. A line on stdin means that it listens again:
 * no call that begins later may fail. With MCP_WEB_OVER_RESTART=quiet, no call is made in between. With
 * `deploy`, several bridges are replaced until the line comes, and every call counts.
 */
async function walkOverRestart({ client, connect, list, call }) {
  print({ step: "connect", client, protocol: await connect() });
  await list();
  let id = 0;
  const isQuiet = process.env.MCP_WEB_OVER_RESTART === "quiet";
  const isDeploy = process.env.MCP_WEB_OVER_RESTART === "deploy";
  let isChecked = isDeploy;
  let isOver = false;
  const answered = [];
  const failed = [];
  const callOnce = async () => {
    const own = (id += 1);
    const counts = isChecked;
    try {
      const { content, isError } = await within(STEP_DEADLINE, "answer", call("echo", { id: own }));
      const text = textOf(content);
      if (isError || !text.includes(String(own))) throw new Error(text);
      if (counts) answered.push(own);
      return true;
    } catch (error) {
      if (counts) failed.push(messageOf(error));
      return false;
    }
  };
  let before = 0;
  const isLoaded = Promise.withResolvers();
  const load = async () => {
    while (isDeploy ? !isOver : answered.length + failed.length < CHECKED_CALLS) {
      const isAnswered = await callOnce();
      if (isAnswered) before += 1;
      if (isDeploy || !isAnswered) await pause(20); // sleep: a failed attempt ends at once, and a deploy takes long
      if (before < CALLS_BEFORE_RESTART) continue;
      isLoaded.resolve();
      if (isQuiet && !isChecked) return;
    }
  };
  const callers = Array.from({ length: LOADING_CALLS }, load);
  await isLoaded.promise;
  if (isQuiet) await Promise.all(callers);
  print({ step: "loaded" });
  await new Promise((resolve) => createInterface({ input: process.stdin }).once("line", resolve));
  isChecked = true;
  isOver = true;
  // Over a restart, some callers of before may still wait for an answer that was lost.
  const [tools] = await Promise.all([list(), ...(isDeploy ? callers : [load(), load()])]);
  print({ step: "checked", answered, failed, tools });
  process.exit(0);
}

/**
 * Walks through the steps with a client:
 *
 * - `client` is the library's name and version.
 * - `connect()` connects and resolves with the negotiated revision, or null.
 * - `list()` resolves with the tools' names.
 * - `call(name, input, { signal, onProgress })` resolves with `{ content, isError }` or throws;
 *   `onProgress` is called with each message of progress.
 * - `listChanged`, if there is one, is the event of changed tools; call `next()` before the change.
 * - `lacks` has, by the step's name, a description of what the library cannot do.
 * - `leave()` closes the client, in the way that `way` describes.
 */
export async function walk({ client, connect, list, call, listChanged, lacks = {}, leave, way }) {
  if (process.env.MCP_WEB_OVER_RESTART) return walkOverRestart({ client, connect, list, call });
  const unless = (name, work) => {
    if (steps && !steps.includes(name)) return undefined;
    return lacks[name] === undefined ? step(name, work) : print({ step: name, lacks: lacks[name] });
  };

  const connected = await step("connect", async () => ({ client, protocol: await connect() }));
  if (!connected) process.exit(1);

  await unless("list", async () => ({ tools: await list() }));

  await unless("call", async () => ({
    text: textOf((await call("add_note", { text: "buy milk" })).content),
  }));

  await unless("wrong", async () => ({ text: await textOrError(call("add_note", {})) }));

  await unless("picture", async () => {
    const { content } = await call("picture", {});
    const { mimeType, data } = content.find(({ type }) => type === "image");
    return { mimeType, bytes: Buffer.from(data, "base64").length };
  });

  await unless("large", async () => {
    try {
      const { content, isError } = await call("large", { bytes: 3_000_000 });
      const text = textOf(content);
      if (isError) return { error: text };
      const ends = text.slice(-EXCERPT);
      return { text_bytes: Buffer.byteLength(text), begins: text.slice(0, EXCERPT), ends };
    } catch (error) {
      return { error: messageOf(error) };
    }
  });

  await unless("list_changed", async () => {
    const changed = within(NEWS_DEADLINE, "news of changed tools", listChanged.next());
    const isNotified = changed.then(
      () => true,
      () => false,
    );
    await call("add_tool", { name: "second" });
    return { heard: await isNotified, tools: await list() };
  });

  await unless("progress", async () => {
    const messages = [];
    await call("count", { to: 4 }, { onProgress: (message) => messages.push(message) });
    // Those that came before the result, and not one that comes while the line is printed.
    return { messages: [...messages] };
  });

  await unless("cancel", async () => {
    const controller = new AbortController();
    const hanging = call("hang", {}, { signal: controller.signal });
    const answered = hanging.then(
      () => true,
      () => false,
    );
    // A second call's answer comes after the page got the first call: it is on its way.
    await call("picture", { edge: 1 });
    controller.abort(new Error("changed my mind"));
    if (await answered) throw new Error("the cancelled call was answered");
    const { content } = await within(NEWS_DEADLINE, "cancel in the page", call("cancelled", {}));
    return { text: textOf(content) };
  });

  await unless("elicitation", async () => ({ text: await textOrError(call("ask", {})) }));

  print({ step: "leaving", way });
  try {
    await within(LEAVING_DEADLINE, "end of the client", leave());
  } catch (error) {
    console.error(`leaving failed: ${messageOf(error)}`);
    process.exit(1);
  }
  // Nothing is left that keeps the process alive: it ends by itself, or something was not closed.
  const left = () => {
    console.error(`still open after leaving: ${process.getActiveResourcesInfo().join(", ")}`);
    process.exit(1);
  };
  setTimeout(left, LEAVING_DEADLINE).unref();
}

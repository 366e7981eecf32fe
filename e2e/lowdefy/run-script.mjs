// Runs script.json over a bridge on a page, or on a session of a host without a browser:
// `node run-script.mjs WAY --bridge URL --token TOKEN --data URL [--session ID]`.
//
// WAY is a list of actions of each step: `browserByFind`, `headlessByFind` or `headlessById`. The app and its data
// server must be as after their start. Prints a line for each step, and ends with 1 at the first that differs.
import { deepStrictEqual, ok } from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { isMain } from "./is-main.mjs";

/** Runs the script, and throws at the first difference. `call` calls a tool and returns its result. */
export async function runScript({ way, call, dataUrl, onStep = () => {} }) {
  const script = JSON.parse(await readFile(new URL("script.json", import.meta.url), "utf8"));
  const get = async (path) => (await fetch(`${dataUrl}${path}`)).json();
  let logged = 0;
  for (const step of script.steps) {
    const result = await call("interact", { actions: step[way], view: "page" });
    checkActions(result, step);
    const { pageId, state, global } = (await call("get_state", {})).structuredContent;
    deepStrictEqual({ pageId, state, global }, { pageId: step.pageId, state: step.state, global: step.global }, step.name);
    const log = await get("/log");
    deepStrictEqual(log.slice(logged), step.requests, step.name);
    logged = log.length;
    onStep(step.name);
  }
  deepStrictEqual(await get("/inits"), script.inits, "how often onInit ran");
}

function checkActions(result, { name, text }) {
  const answer = result.content.map((block) => block.text).join("\n");
  ok(!result.isError, `${name}: ${answer}`);
  const { log } = result._meta["mcp-web/page"];
  const failed = log.filter((entry) => !entry.ok);
  deepStrictEqual(failed, [], `${name}: ${answer}`);
  for (const expected of text) {
    ok(answer.includes(expected), `${name}: "${expected}" is not in:\n${answer}`);
  }
}

/** Calls tools by `POST /tool-call`. */
function toolCaller({ bridge, token, session }) {
  return async (toolName, toolInput) => {
    const response = await fetch(`${bridge}/tool-call`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ toolName, toolInput: session ? { ...toolInput, sessionId: session } : toolInput }),
    });
    return response.json();
  };
}

if (isMain(import.meta)) {
  const text = { type: "string" };
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { bridge: text, token: text, data: text, session: text },
  });
  const [way] = positionals;
  if (!way || !values.bridge || !values.token || !values.data) {
    throw new Error("node run-script.mjs WAY --bridge URL --token TOKEN --data URL [--session ID]");
  }
  const onStep = (name) => console.log(`ok ${name}`);
  await runScript({ way, call: toolCaller(values), dataUrl: values.data, onStep });
}

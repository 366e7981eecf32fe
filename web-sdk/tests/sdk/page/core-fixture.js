/**
 * Runs lists of actions like a call: with the driver and the executor of the sources, and the rules of the built package.
 */

import * as glue from "./mcp_web_page.js";
import { runActions } from "./page-tools/executor.ts";
import { completeLimits } from "./page-tools/options.ts";

const NEVER = new AbortController().signal;

let started;

async function start() {
  const module = await WebAssembly.compile(await (await fetch("/mcp_web_page_bg.wasm")).arrayBuffer());
  const { exports } = await WebAssembly.instantiate(module, { glue });
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
}

/** Performs a list of actions, all of which are tried, and returns its log. `untilAnswered` is called before each step. */
export async function interact(driver, list, { confirm, untilAnswered = async () => true } = {}) {
  await (started ??= start());
  const actions = new glue.Actions(list, completeLimits({ actionTimeoutMs: 3_000 }), !!confirm, true, performance.now());
  try {
    const { log } = await runActions({ actions, list, driver, options: { confirm }, signal: NEVER, person: { waitedMs: 0, untilAnswered }, handOver() {} });
    return log;
  } finally {
    actions.free();
  }
}

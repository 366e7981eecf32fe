/** Operators of requests run in the host: a pattern of the app may take minutes for some texts. */

import { Script } from "node:vm";

import type { Operator } from "./plugins.ts";

/** Processor time of the operators of a request. Without a mistake in them, each takes much less than a millisecond. */
const MAX_OPERATORS_MS = 250;

/** The global name under which the script finds the function to run. */
const WORK = Symbol.for("mcp-web-lowdefy.operator");
const scope = globalThis as unknown as Record<symbol, unknown>;
const script = new Script(`globalThis[Symbol.for("mcp-web-lowdefy.operator")]()`);

/**
 * Returns the operators of one request, which fail when all of them have taken too long. `overran` is called then. Each checks
 * the time before it begins, which ends loops over functions; those with these names are stopped while they run.
 */
export function limitOperatorTime(operators: Record<string, Operator>, names: readonly string[], overran: () => void): Record<string, Operator> {
  let before: NodeJS.CpuUsage | undefined;
  let isOver = false;
  const leftMs = () => {
    const { user, system } = process.cpuUsage((before ??= process.cpuUsage()));
    return Math.ceil(MAX_OPERATORS_MS - (user + system) / 1000);
  };
  const fail = (name: string): never => {
    isOver = true;
    // On a computer with much other work, the time of an operator may be over before it has used the processor.
    if (leftMs() < MAX_OPERATORS_MS / 2) overran();
    throw new Error(`the operators of the request took more than ${MAX_OPERATORS_MS} ms, the last one was ${name}`);
  };
  const limited = Object.entries(operators).map(([name, operator]): [string, Operator] => {
    const isStopped = names.includes(name);
    const run: Operator = (call) => {
      const timeout = leftMs();
      if (isOver || timeout <= 0) return fail(name);
      return isStopped ? runInTime(timeout, () => operator(call), () => fail(name)) : operator(call);
    };
    return [name, run];
  });
  return Object.fromEntries(limited);
}

function runInTime<Value>(timeout: number, work: () => Value, late: () => Value): Value {
  const former = scope[WORK];
  scope[WORK] = work;
  try {
    return script.runInThisContext({ timeout }) as Value;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return late();
  } finally {
    scope[WORK] = former;
  }
}

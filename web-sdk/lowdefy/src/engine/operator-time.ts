/**
 * Limits the time of operators of requests, which run in the host: a pattern of the app may take minutes for some texts.
 */

import { Script } from "node:vm";

import type { Operator } from "./plugins.ts";

/** Processor time for the operators of a request. Correct ones take much less than a millisecond each. */
const MAX_OPERATORS_MS = 100;

/** The global name under which the script finds the function to run. */
const WORK = Symbol.for("mcp-web-lowdefy.operator");
const scope = globalThis as unknown as Record<symbol, unknown>;
const script = new Script(`globalThis[Symbol.for("mcp-web-lowdefy.operator")]()`);

/**
 * Returns the operators of one request, which fail when their total time is used up. `overran` is called in that case. Each
 * checks the time before it begins, which ends loops over functions; those in `names` are stopped while they run.
 */
export function limitOperatorTime(operators: Record<string, Operator>, names: readonly string[], overran: () => void): Record<string, Operator> {
  let usedMs = 0;
  /** When the outermost operator began: functions of operators run inside others. */
  let begun: NodeJS.CpuUsage | undefined;
  const leftMs = () => MAX_OPERATORS_MS - usedMs - (begun ? msSince(begun) : 0);
  const fail = (name: string): never => {
    overran();
    throw new Error(`the operators of the request took more than ${MAX_OPERATORS_MS} ms, the last one was ${name}`);
  };
  const limited = Object.entries(operators).map(([name, operator]): [string, Operator] => {
    const isStopped = names.includes(name);
    const run: Operator = (call) => {
      if (leftMs() <= 0) return fail(name);
      const isOutermost = !begun;
      begun ??= process.cpuUsage();
      try {
        return isStopped ? runInTime(leftMs, () => operator(call), () => fail(name)) : operator(call);
      } finally {
        if (isOutermost) {
          usedMs += msSince(begun);
          begun = undefined;
        }
      }
    };
    return [name, run];
  });
  return Object.fromEntries(limited);
}

function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Runs work without side effects, and repeats it if other programs used the processor during its time. */
function runInTime<Value>(leftMs: () => number, work: () => Value, late: () => Value): Value {
  const former = scope[WORK];
  scope[WORK] = work;
  try {
    for (let timeout = leftMs(); timeout > 0; timeout = leftMs()) {
      try {
        return script.runInThisContext({ timeout: Math.ceil(timeout) }) as Value;
      } catch (error) {
        if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      }
    }
    return late();
  } finally {
    scope[WORK] = former;
  }
}

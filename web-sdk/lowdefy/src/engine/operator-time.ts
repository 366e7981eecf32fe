/** Operators of requests run in the host: a pattern of the app may take minutes for some texts. */

import { Script } from "node:vm";

import type { Operator } from "./plugins.ts";

/** How long an operator may take. Patterns that are not wrong take much less than a millisecond. */
const MAX_OPERATOR_MS = 250;

/** The global name under which the script finds the function to run. */
const WORK = Symbol.for("mcp-web-lowdefy.operator");
const scope = globalThis as unknown as Record<symbol, unknown>;
const script = new Script(`globalThis[Symbol.for("mcp-web-lowdefy.operator")]()`);

/** An operator that took too long. */
export class OperatorTimeoutError extends Error {}

/** Returns operators that are stopped after a time. `overran` is called then. */
export function limitOperatorTime(operators: Record<string, Operator>, names: readonly string[], overran: () => void): Record<string, Operator> {
  const limited = Object.entries(operators).map(([name, operator]) => {
    if (!names.includes(name)) return [name, operator];
    return [name, (call: Parameters<Operator>[0]) => runInTime(name, () => operator(call), overran)];
  });
  return Object.fromEntries(limited);
}

function runInTime<Value>(name: string, work: () => Value, overran: () => void): Value {
  const former = scope[WORK];
  scope[WORK] = work;
  try {
    return script.runInThisContext({ timeout: MAX_OPERATOR_MS }) as Value;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    overran();
    throw new OperatorTimeoutError(`${name} took more than ${MAX_OPERATOR_MS} ms`);
  } finally {
    scope[WORK] = former;
  }
}

/** Runs a case of `cases.json`: a state, its tools, and calls of them. */

import { createRequire } from "node:module";
import { caseNames } from "./names.mjs";
import { createStateTools, groupState, id, system } from "../../../../../target/sdk/mcp-web-state.js";

// The packages are installed outside of the sources.
const require = createRequire(new URL("../../../../../target/tools/web-sdk-node/package.json", import.meta.url));
const z = require("zod");

/** A case of the list. */
export interface Case {
  case: string;
  title: string;
  name: string;
  /** TypeScript that builds the options, with `z`, `id`, `system`, `groupState`, `gen`, `now` and the schemas below. */
  config: string;
  state: unknown;
  calls: { tool: string; arguments: object }[];
}

/** The outcome of a call. */
export type Outcome = { value?: unknown; refused?: string; state: unknown };

/** The outcome of the case. */
export type CaseResult = { throws: string } | { tools: string[]; warnings: string[]; calls: Outcome[] };

const NAMES = caseNames({ z, id, system, groupState });

/** Runs a case from its state. */
export async function runCase(test: Case): Promise<CaseResult> {
  let state: unknown = structuredClone(test.state);
  const warnings: string[] = [];
  const warn = console.warn;
  console.warn = (text: string) => void warnings.push(text);
  try {
    const config = new Function(...Object.keys(NAMES), `return (${test.config})`)(...Object.values(NAMES));
    const options = { name: test.name, description: "The state", get: () => state, set: (value: unknown) => (state = value), ...config };
    const { tools } = createStateTools(options);
    const calls: Outcome[] = [];
    for (const { tool, arguments: args } of test.calls) {
      const handler: any = tools.find(({ name }) => name === tool)?.handler;
      const outcome: Outcome = handler
        ? await handler(structuredClone(args)).then((value: unknown) => ({ value }), (error: Error) => ({ refused: error.message }))
        : { refused: `there is no tool ${tool}` };
      calls.push({ ...outcome, state: structuredClone(state) });
    }
    return { tools: tools.map(({ name }) => name), warnings, calls };
  } catch (error) {
    return { throws: (error as Error).message };
  } finally {
    console.warn = warn;
  }
}

/**
 * Runs the handler for a message of the bridge, and returns its outcome. `mcp-web-results.js` runs the handlers of items
 * other than tools.
 */

import type { RunningCall } from "./call-context.ts";
import type { HandlerOutcome } from "./core.ts";
import { McpWebError } from "./error.ts";
import type { AnyDefinition, Registration } from "./registration.ts";
import { encodeBase64, isBinary } from "./content.ts";
import { loadModule } from "./lazy.ts";
import { resultJson, toMessages, toolResult } from "./results.ts";
import { parseWith } from "./schemas.ts";

/** A message of the bridge that calls a handler of the page. Its fields depend on its type. */
export type CallMessage = { type: keyof typeof CALLS; context?: object; [field: string]: any };

/** How messages of one type are described to the app, and how their handlers are run. */
interface CallType {
  kind: string;
  input(message: CallMessage): unknown;
  run(definition: AnyDefinition, message: CallMessage, call: RunningCall): Promise<{ value: unknown; outcome: HandlerOutcome }>;
}

/** The functions of this module that `mcp-web-results.js` uses. */
const RESULT_TOOLS = { McpWebError, encodeBase64, isBinary, resultJson, toMessages };

/** Returns a function that runs a handler with a function of that module. */
const runWith =
  (run: keyof typeof import("../mcp-web-results.ts")): CallType["run"] =>
  async (definition, message, call) => {
    const results = await loadModule(import("../mcp-web-results.ts"), "results", "Result");
    return results[run](RESULT_TOOLS, definition, message, call);
  };

const CALLS = {
  "tool-call": {
    kind: "tool",
    input: ({ toolInput }) => toolInput,
    async run({ handler, inputSchema, outputSchema, name }, { toolInput }, { context, imageLimit }) {
      const input = await parseWith(inputSchema, toolInput, "InvalidArguments", `the arguments of "${name}" are invalid`);
      const value = await handler(input, context);
      const parse = (value: unknown) => parseWith(outputSchema, value, "InvalidResult", `the result of "${name}" is invalid`);
      return { value, outcome: await toolResult(value, imageLimit, parse) };
    },
  },
  "prompt-get": {
    kind: "prompt",
    input: (message) => message.arguments,
    run: runWith("getPrompt"),
  },
  "resource-read": {
    kind: "resource",
    input: ({ uri, variables }) => (variables === undefined ? { uri } : { uri, variables }),
    run: runWith("readResource"),
  },
  completion: {
    kind: "completion",
    input: ({ argument, arguments: others = {} }) => ({ argument, arguments: others }),
    run: runWith("complete"),
  },
} satisfies { [type: string]: CallType };

/** Returns the description of a call for the app's listeners. */
export function describeCall(message: CallMessage, registration: Registration) {
  const { kind, input }: CallType = CALLS[message.type];
  // Only templates have one.
  const suffix = message.uriTemplate === undefined ? "" : "-template";
  return { kind: kind + suffix, name: registration.id, input: input(message) };
}

/** Runs the handler, and returns its return value and its outcome for the bridge. */
export function runHandler({ definition }: Registration, message: CallMessage, call: RunningCall) {
  const { run }: CallType = CALLS[message.type];
  return run(definition, message, call);
}

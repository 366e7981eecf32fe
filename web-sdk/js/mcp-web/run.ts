/** From a message of the bridge to a handler and its outcome. */

import type { CallContext } from "./call-context.ts";
import type { HandlerOutcome } from "./core.ts";
import { McpWebError } from "./error.ts";
import type { AnyDefinition, Registration } from "./registration.ts";
import { encodeBase64, isBinary } from "./content.ts";
import { loadModule } from "./lazy.ts";
import { resultJson, toMessages, toolResult } from "./results.ts";
import { parseWith } from "./schemas.ts";

/** A message of the bridge that calls something of the page. Its fields depend on its type. */
export type CallMessage = { type: keyof typeof CALLS; context?: object; [field: string]: any };

/** How messages of one type are described to the app, and how their handlers are run. */
interface CallType {
  kind(message: CallMessage): string;
  input(message: CallMessage): unknown;
  run(definition: AnyDefinition, message: CallMessage, call: CallContext): unknown;
  outcome(value: unknown, message: CallMessage, definition: AnyDefinition, call: CallContext): Promise<HandlerOutcome>;
}

/** What `mcp-web-results.js` uses of this module. */
const RESULT_TOOLS = { encodeBase64, isBinary, resultJson, toMessages };

/** Returns the conversion of a result with a function of that module. */
const convertWith =
  (convert: keyof typeof import("../mcp-web-results.ts")): CallType["outcome"] =>
  async (value, { uri }, { mimeType }) => {
    const results = await loadModule(import("../mcp-web-results.ts"), "results", "Result");
    return results[convert](RESULT_TOOLS, value, uri, mimeType);
  };

const CALLS = {
  "tool-call": {
    kind: () => "tool",
    input: ({ toolInput }) => toolInput,
    run: async ({ handler, inputSchema, name }, { toolInput }, call) =>
      handler(await parseWith(inputSchema, toolInput, "InvalidArguments", `the arguments of "${name}" are invalid`), call.context),
    outcome: (value, _message, { outputSchema, name }, { imageLimit }) =>
      toolResult(value, imageLimit, (value) => parseWith(outputSchema, value, "InvalidResult", `the result of "${name}" is invalid`)),
  },
  "prompt-get": {
    kind: () => "prompt",
    input: (message) => message.arguments,
    run: (prompt, message, call) => prompt.get(message.arguments, call.context),
    outcome: convertWith("promptResult"),
  },
  "resource-read": {
    kind: ({ uriTemplate }) => (uriTemplate === undefined ? "resource" : "resource-template"),
    input: ({ uri, variables }) => (variables === undefined ? { uri } : { uri, variables }),
    run(definition, { uri, uriTemplate, variables = {} }, call) {
      const url = parseUri(uri);
      return uriTemplate === undefined ? definition.read(url, call.context) : definition.read(url, variables, call.context);
    },
    outcome: convertWith("resourceResult"),
  },
  completion: {
    kind: () => "completion",
    input: ({ argument, arguments: others = {} }) => ({ argument, arguments: others }),
    run(definition, { argument, arguments: others = {} }, call) {
      const complete = findCompleter(definition, argument.name);
      return complete?.(argument.value, { ...call.facts, arguments: others });
    },
    outcome: convertWith("completionResult"),
  },
} satisfies { [type: string]: CallType };

/** Returns what the app's listeners get to know about a call. */
export function describeCall(message: CallMessage, registration: Registration) {
  const { kind, input }: CallType = CALLS[message.type];
  return { kind: kind(message), name: registration.id, input: input(message) };
}

/** Runs the handler, and returns what it returned and its outcome for the bridge. */
export async function runHandler({ definition }: Registration, message: CallMessage, call: CallContext) {
  const { run, outcome }: CallType = CALLS[message.type];
  const value = await run(definition, message, call);
  return { value, outcome: await outcome(value, message, definition, call) };
}

/** Prompts have completers in their arguments, templates an object of them. */
function findCompleter({ complete, arguments: list = [] }: AnyDefinition, name: string) {
  const argument = list.find((argument: AnyDefinition) => argument.name === name) ?? { complete: complete?.[name] };
  return argument.complete;
}

function parseUri(uri: string): URL {
  try {
    return new URL(uri);
  } catch (cause) {
    throw new McpWebError("ResourceNotFound", `"${uri}" is not an absolute URI`, { cause });
  }
}

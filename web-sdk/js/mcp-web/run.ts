/** From a message of the bridge to a handler and its answer. */

import { completionAnswer, promptAnswer, resourceAnswer, toolAnswer } from "./answers.js";
import { McpWebError } from "./error.js";

/** Of each message: what the call is of, what the app hears as its input, and how it is run. */
const CALLS = {
  "tool-call": {
    kind: () => "tool",
    input: ({ toolInput }) => toolInput,
    run: ({ handler }, { toolInput }, call) => handler(toolInput, call.context),
    answer: (value, _message, _definition, { pictures }) => toolAnswer(value, pictures),
  },
  "prompt-get": {
    kind: () => "prompt",
    input: (message) => message.arguments,
    run: (prompt, message, call) => prompt.get(message.arguments, call.context),
    answer: (value) => promptAnswer(value),
  },
  "resource-read": {
    kind: ({ uriTemplate }) => (uriTemplate === undefined ? "resource" : "resource-template"),
    input: ({ uri, variables }) => (variables === undefined ? { uri } : { uri, variables }),
    run(definition, { uri, uriTemplate, variables = {} }, call) {
      const url = parsed(uri);
      return uriTemplate === undefined ? definition.read(url, call.context) : definition.read(url, variables, call.context);
    },
    answer: (value, { uri }, { mimeType }) => resourceAnswer(value, uri, mimeType),
  },
  completion: {
    kind: () => "completion",
    input: ({ argument, arguments: others = {} }) => ({ argument, arguments: others }),
    run(definition, { argument, arguments: others = {} }, call) {
      const complete = completer(definition, argument.name);
      return complete?.(argument.value, { ...call.facts, arguments: others });
    },
    answer: (value) => completionAnswer(value),
  },
};

/** What the app hears of a call. */
export function factsOf(message, entry) {
  const { kind, input } = CALLS[message.type];
  return { kind: kind(message), name: entry.id, input: input(message) };
}

/** Runs the handler: `{ value, answer }`. */
export async function run(entry, message, call) {
  const { run, answer } = CALLS[message.type];
  const { definition } = entry;
  const value = await run(definition, message, call);
  return { value, answer: await answer(value, message, definition, call) };
}

function completer({ complete, arguments: list = [] }, name) {
  const known = list.find((argument) => argument.name === name) ?? { complete: complete?.[name] };
  return known.complete;
}

function parsed(uri) {
  try {
    return new URL(uri);
  } catch (cause) {
    throw new McpWebError("ResourceNotFound", `"${uri}" is not an absolute URI`, { cause });
  }
}

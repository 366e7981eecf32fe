/**
 * Runs the handlers of resources, prompts and completers, and converts their results for the bridge. Loaded at the first
 * such call.
 */

import type { RunningCall } from "./mcp-web/call-context.ts";
import type { HandlerOutcome } from "./mcp-web/core.ts";
import type * as content from "./mcp-web/content.ts";
import type { McpWebErrorConstructor } from "./mcp-web/error.ts";
import type { AnyDefinition } from "./mcp-web/registration.ts";
import type * as results from "./mcp-web/results.ts";
import type { CallMessage } from "./mcp-web/run.ts";
import { type UnknownObject, isPlainObject } from "./mcp-web/type-guards.ts";
import type { Binary, ResourcePart } from "./types/content.ts";

/** Maximum number of values in MCP's `CompleteResult`. */
const MAX_VALUES = 100;

/** Functions of the module that loads this one. They know the content objects that the app has created. */
export interface ResultTools {
  McpWebError: McpWebErrorConstructor;
  encodeBase64: typeof content.encodeBase64;
  isBinary: typeof content.isBinary;
  resultJson: typeof results.resultJson;
  toMessages: typeof results.toMessages;
}

/** The return value of a handler, and its outcome for the bridge. */
type Returned = Promise<{ value: unknown; outcome: HandlerOutcome }>;

/** Reads a resource, or one that matches a template. */
export async function readResource(
  tools: ResultTools,
  definition: AnyDefinition,
  { uri, uriTemplate, variables = {} }: CallMessage,
  { context }: RunningCall,
): Returned {
  const url = parseUri(tools, uri);
  const value = await (uriTemplate === undefined ? definition.read(url, context) : definition.read(url, variables, context));
  return { value, outcome: await resourceResult(tools, value, uri, definition.mimeType) };
}

/** Fills in a prompt. */
export async function getPrompt(
  tools: ResultTools,
  definition: AnyDefinition,
  message: CallMessage,
  { context }: RunningCall,
): Returned {
  const value = await definition.get(message.arguments, context);
  return { value, outcome: await promptResult(tools, value) };
}

/** Suggests values for an argument of a prompt, or a variable of a template. */
export async function complete(
  tools: ResultTools,
  definition: AnyDefinition,
  { argument, arguments: others = {} }: CallMessage,
  { facts }: RunningCall,
): Returned {
  const value = await findCompleter(definition, argument.name)?.(argument.value, { ...facts, arguments: others });
  return { value, outcome: completionResult(tools, value) };
}

/** Prompts have completers in their arguments, templates have an object of them. */
function findCompleter({ complete, arguments: list = [] }: AnyDefinition, name: string) {
  const argument = list.find((argument: AnyDefinition) => argument.name === name) ?? { complete: complete?.[name] };
  return argument.complete;
}

function parseUri({ McpWebError }: ResultTools, uri: string): URL {
  try {
    return new URL(uri);
  } catch (cause) {
    throw new McpWebError("ResourceNotFound", `"${uri}" is not an absolute URI`, { cause });
  }
}

/** Converts a resource's content. */
async function resourceResult(
  tools: ResultTools,
  value: unknown,
  uri: string,
  mimeType?: string,
): Promise<HandlerOutcome> {
  const { isBinary, resultJson } = tools;
  const convert = (part: unknown) => resourcePart(tools, part, uri, mimeType);
  if (value === undefined) throw new TypeError("read() returned nothing: return a string, bytes, or any JSON value");
  if (isPlainObject(value) && Array.isArray(value.contents)) {
    return { result: resultJson({ ...value, contents: await Promise.all(value.contents.map(convert)) }) };
  }
  const isList = Array.isArray(value) && value.length > 0 && value.every((part) => isBinary(part) || isPart(part));
  return { result: resultJson({ contents: await Promise.all((isList ? value : [value]).map(convert)) }) };
}

const isPart = (value: unknown): value is ResourcePart & UnknownObject =>
  isPlainObject(value) && (typeof value.text === "string" || value.blob !== undefined);

/** Converts one part to MCP's `ResourceContents`. */
async function resourcePart(
  { isBinary, encodeBase64, resultJson }: ResultTools,
  value: unknown,
  uri: string,
  mimeType?: string,
): Promise<object> {
  if (typeof value === "string") return { uri, mimeType: mimeType ?? "text/plain", text: value };
  if (isPart(value) && value.blob === undefined) {
    return { uri, mimeType: mimeType ?? "text/plain", ...value };
  }
  if (isBinary(value) || isPart(value)) {
    const { blob, ...rest }: ResourcePart = isBinary(value) ? { blob: value as Binary } : value;
    const encoded = await encodeBase64(blob, rest.mimeType);
    const type = encoded.mimeType ?? mimeType ?? "application/octet-stream";
    return { uri, ...rest, mimeType: type, blob: encoded.data };
  }
  return { uri, mimeType: mimeType ?? "application/json", text: resultJson(value) };
}

/** Converts a prompt's messages. */
async function promptResult({ resultJson, toMessages }: ResultTools, value: unknown): Promise<HandlerOutcome> {
  const whole = isPlainObject(value) && Array.isArray(value.messages) ? value : { messages: value };
  return { result: resultJson({ ...whole, messages: await toMessages(whole.messages) }) };
}

/** Converts the suggestions of a completer. */
function completionResult({ resultJson }: ResultTools, value: unknown = []): HandlerOutcome {
  const { values, ...rest } = (Array.isArray(value) ? { values: value } : value) as UnknownObject;
  if (!Array.isArray(values) || values.some((text) => typeof text !== "string")) {
    throw new TypeError("complete() must return an array of strings, or { values, total?, hasMore? }");
  }
  const excess = values.length > MAX_VALUES && { total: values.length, hasMore: true };
  return { result: resultJson({ values: values.slice(0, MAX_VALUES), ...excess, ...rest }) };
}


/** What handlers return, as the bridge wants it: JSON texts. */

import type { Binary, ContentBlock, Message, ResourcePart } from "../types/content.ts";
import type { HandlerOutcome } from "./core.ts";
import { type MaybePromise, allMaybePromises, encodeBase64, isBinary, isBlock, isContent, toBlock } from "./content.ts";
import { type ImageLimit, scaleBlocks, scaleValue } from "./image-limits.ts";
import { toJson } from "./json.ts";
import { type UnknownObject, isPlainObject } from "./type-guards.ts";

/** The most values of MCP's `CompleteResult`. */
const MAX_VALUES = 100;

/** All fields of MCP's `CallToolResult`. An object with another field is a value of the app. */
const TOOL_RESULT_FIELDS = ["content", "structuredContent", "_meta", "isError"];

/** A tool's result in the shape of MCP's `CallToolResult`. */
interface McpResult {
  content: unknown[];
  structuredContent?: unknown;
  _meta?: unknown;
  isError?: unknown;
}

/** Converts a tool's result: a plain value, content, or an MCP tool result. */
export async function toolResult(value: unknown, limit: ImageLimit): Promise<HandlerOutcome> {
  if (isMcpResult(value)) return mcpResult(value, limit);
  if (isContent(value)) return { content: await blocksJson([value], limit) };
  if (Array.isArray(value) && value.some(isContent)) return { content: await blocksJson(value, limit) };
  return { result: resultJson(await scaleValue(value, limit)) };
}

function isMcpResult(value: unknown): value is McpResult & UnknownObject {
  return (
    isPlainObject(value) &&
    Array.isArray(value.content) &&
    value.content.every((block) => isBlock(block) || isContent(block)) &&
    Object.keys(value).every((key) => TOOL_RESULT_FIELDS.includes(key))
  );
}

async function mcpResult({ content, structuredContent, _meta, isError }: McpResult, limit: ImageLimit): Promise<HandlerOutcome> {
  const blocks = await blocksJson(content, limit);
  if (!isError) return { content: blocks, structuredContent: resultJson(structuredContent), _meta: resultJson(_meta) };
  const texts = (content as ContentBlock[]).flatMap((block) => (block.type === "text" ? [block.text] : []));
  return { message: texts.join("\n") || "the tool failed", content: blocks, data: resultJson(structuredContent) };
}

async function blocksJson(values: unknown[], limit: ImageLimit): Promise<string | undefined> {
  return resultJson(await scaleBlocks(await allMaybePromises(values.map(toBlock)), limit));
}

/** Converts a resource's content. */
export async function resourceResult(value: unknown, uri: string, mimeType?: string): Promise<HandlerOutcome> {
  if (value === undefined) throw new TypeError("read() returned nothing: return a string, bytes, or any JSON value");
  if (isPlainObject(value) && Array.isArray(value.contents)) {
    const contents = await Promise.all(value.contents.map((part) => resourcePart(part, uri, mimeType)));
    return { result: resultJson({ ...value, contents }) };
  }
  const isList = Array.isArray(value) && value.length > 0 && value.every((part) => isBinary(part) || isPart(part));
  const contents = await Promise.all((isList ? value : [value]).map((part) => resourcePart(part, uri, mimeType)));
  return { result: resultJson({ contents }) };
}

const isPart = (value: unknown): value is ResourcePart & UnknownObject =>
  isPlainObject(value) && (typeof value.text === "string" || value.blob !== undefined);

/** Converts one part to MCP's `ResourceContents`. */
async function resourcePart(value: unknown, uri: string, mimeType?: string): Promise<object> {
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
export async function promptResult(value: unknown): Promise<HandlerOutcome> {
  const whole = isPlainObject(value) && Array.isArray(value.messages) ? value : { messages: value };
  return { result: resultJson({ ...whole, messages: await toMessages(whole.messages) }) };
}

/** Converts strings, content and messages to MCP messages; of several content blocks, each becomes one. */
export function toMessages(values: unknown): MaybePromise<object[]> {
  const messages = (Array.isArray(values) ? values : [values]).flatMap((value): [string, unknown, object][] => {
    if (typeof value === "string" || isContent(value) || isBlock(value)) return [["user", value, {}]];
    if (!isPlainObject(value) || value.content === undefined) {
      throw new TypeError('a message is a string, content, or { role: "user" | "assistant", content }');
    }
    const { role = "user", content, ...rest } = value as unknown as Message;
    // Uses of tools and their results belong together (sampling of MCP 2025-11-25).
    if (!Array.isArray(content) || content.some(isToolBlock)) return [[role, content, rest]];
    return content.map((block) => [role, block, rest]);
  });
  const blocks = messages.map(([, block], index): MaybePromise<unknown> =>
    Array.isArray(block) ? allMaybePromises<unknown>(block.map(messageBlock)) : messageBlock(block, index),
  );
  const withRoles = (blocks: unknown[]) =>
    blocks.map((content, index) => ({ role: messages[index]![0], content, ...messages[index]![2] }));
  const ready = allMaybePromises(blocks);
  return ready instanceof Promise ? ready.then(withRoles) : withRoles(ready);
}

const isToolBlock = (block: unknown) => /^tool_/.test((block as UnknownObject | null)?.type as string);
const messageBlock = (block: unknown, index: number): MaybePromise<unknown> =>
  isToolBlock(block) ? block : toBlock(block, index);

/** Converts what a completer proposes. */
export async function completionResult(value: unknown = []): Promise<HandlerOutcome> {
  const { values, ...rest } = (Array.isArray(value) ? { values: value } : value) as UnknownObject;
  if (!Array.isArray(values) || values.some((text) => typeof text !== "string")) {
    throw new TypeError("complete() must return an array of strings, or { values, total?, hasMore? }");
  }
  const excess = values.length > MAX_VALUES && { total: values.length, hasMore: true };
  return { result: resultJson({ values: values.slice(0, MAX_VALUES), ...excess, ...rest }) };
}

/** Converts what a handler threw. */
export function errorResult(error: any): HandlerOutcome {
  const message = error?.message || (typeof error === "string" && error) || "it threw something without a message";
  return { message: String(message), code: error?.code, data: jsonOrNothing(error?.data) };
}

const resultJson = (value: unknown) => toJson(value, "the result", (message) => new TypeError(message));

function jsonOrNothing(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

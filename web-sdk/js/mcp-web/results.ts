/**
 * Converts the results of tools to JSON texts for the bridge. `mcp-web-results.js` runs the other handlers.
 */

import type { ContentBlock, Message } from "../types/content.ts";
import type { HandlerOutcome } from "./core.ts";
import { type MaybePromise, allMaybePromises, isBlock, isContent, toBlock } from "./content.ts";
import { type ImageLimit, scaleBlocks, scaleValue } from "./scale-images.ts";
import { toJson } from "./json.ts";
import { type UnknownObject, isPlainObject } from "./type-guards.ts";

/** All fields of MCP's `CallToolResult`. An object with another field is a value of the app. */
const TOOL_RESULT_FIELDS = ["content", "structuredContent", "_meta", "isError"];

/** A tool's result in the shape of MCP's `CallToolResult`. */
interface McpResult {
  content: unknown[];
  structuredContent?: unknown;
  _meta?: unknown;
  isError?: unknown;
}

/**
 * Converts a tool's result: a plain value, content, or an MCP tool result. `parse` validates the part that the output
 * schema describes.
 */
export async function toolResult(
  value: unknown,
  limit: ImageLimit,
  parse: (value: unknown) => unknown = (value) => value,
): Promise<HandlerOutcome> {
  if (isMcpResult(value)) return mcpResult(value, limit, parse);
  if (isContent(value)) return { content: await blocksJson([value], limit) };
  if (Array.isArray(value) && value.some(isContent)) return { content: await blocksJson(value, limit) };
  return { result: resultJson(await scaleValue(await parse(value), limit)) };
}

function isMcpResult(value: unknown): value is McpResult & UnknownObject {
  return (
    isPlainObject(value) &&
    Array.isArray(value.content) &&
    value.content.every((block) => isBlock(block) || isContent(block)) &&
    Object.keys(value).every((key) => TOOL_RESULT_FIELDS.includes(key))
  );
}

async function mcpResult(
  { content, structuredContent, _meta, isError }: McpResult,
  limit: ImageLimit,
  parse: (value: unknown) => unknown,
): Promise<HandlerOutcome> {
  const blocks = await blocksJson(content, limit);
  if (!isError) {
    const structured = structuredContent === undefined ? undefined : await parse(structuredContent);
    return { content: blocks, structuredContent: resultJson(structured), _meta: resultJson(_meta) };
  }
  const texts = (content as ContentBlock[]).flatMap((block) => (block.type === "text" ? [block.text] : []));
  const message = texts.join("\n") || "the tool failed";
  return { message, content: blocks, data: resultJson(structuredContent), _meta: resultJson(_meta) };
}

async function blocksJson(values: unknown[], limit: ImageLimit): Promise<string | undefined> {
  return resultJson(await scaleBlocks(await allMaybePromises(values.map(toBlock)), limit));
}

/** Converts strings, content and messages to MCP messages; each of several content blocks becomes one. */
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

/** Converts an exception of a handler. */
export function errorResult(error: any): HandlerOutcome {
  const message = error?.message || (typeof error === "string" && error) || "it threw something without a message";
  return { message: String(message), code: error?.code, data: jsonOrNothing(error?.data) };
}

/** Returns the JSON of a result. */
export const resultJson = (value: unknown) => toJson(value, "the result", (message) => new TypeError(message));

function jsonOrNothing(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

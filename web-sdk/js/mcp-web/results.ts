/** What handlers return, as the bridge wants it: JSON texts. */

import { allOf, base64Of, blockOf, isBinary, isBlock, isContent } from "./content.js";
import { jsonOf } from "./json.js";
import { isObject, isPlainObject } from "./objects.js";
import { fittingBlocks, fittingValue } from "./pictures.js";

/** Of MCP's `CompleteResult`. */
const MAX_VALUES = 100;

/** The whole of MCP's `CallToolResult`. An object with other fields, too, is a value of the app. */
const TOOL_RESULT = ["content", "structuredContent", "_meta", "isError"];

/** A tool's result: a plain value, content, or an MCP tool result. `pictures`: how large they may be. */
export async function toolAnswer(value, pictures) {
  if (isToolResult(value)) return toolResult(value, pictures);
  if (isContent(value)) return { content: await contentText([value], pictures) };
  if (Array.isArray(value) && value.some(isContent)) return { content: await contentText(value, pictures) };
  return { result: text(await fittingValue(value, pictures)) };
}

function isToolResult(value) {
  return (
    isPlainObject(value) &&
    Array.isArray(value.content) &&
    value.content.every((block) => isBlock(block) || isContent(block)) &&
    Object.keys(value).every((key) => TOOL_RESULT.includes(key))
  );
}

async function toolResult({ content, structuredContent, _meta, isError }, pictures) {
  const blocks = await contentText(content, pictures);
  if (!isError) return { content: blocks, structuredContent: text(structuredContent), _meta: text(_meta) };
  const said = content.filter((block) => block.type === "text").map((block) => block.text);
  return { message: said.join("\n") || "the tool failed", content: blocks, data: text(structuredContent) };
}

async function contentText(values, pictures) {
  return text(await fittingBlocks(await allOf(values.map(blockOf)), pictures));
}

/** A resource's content. */
export async function resourceAnswer(value, uri, mimeType) {
  if (value === undefined) throw new TypeError("read() returned nothing: return a string, bytes, or any JSON value");
  if (isPlainObject(value) && Array.isArray(value.contents)) {
    const contents = await allOf(value.contents.map((part) => contents1(part, uri, mimeType)));
    return { result: text({ ...value, contents }) };
  }
  const several = Array.isArray(value) && value.length > 0 && value.every((part) => isBinary(part) || isPart(part));
  const contents = await allOf((several ? value : [value]).map((part) => contents1(part, uri, mimeType)));
  return { result: text({ contents }) };
}

const isPart = (value) => isPlainObject(value) && (typeof value.text === "string" || value.blob !== undefined);

async function contents1(value, uri, mimeType) {
  if (typeof value === "string") return { uri, mimeType: mimeType ?? "text/plain", text: value };
  if (isPart(value) && value.blob === undefined) {
    return { uri, mimeType: mimeType ?? "text/plain", ...value };
  }
  if (isBinary(value) || isPart(value)) {
    const { blob = value, ...rest } = isBinary(value) ? {} : value;
    const encoded = await base64Of(blob, rest.mimeType);
    const type = encoded.mimeType ?? mimeType ?? "application/octet-stream";
    return { uri, ...rest, mimeType: type, blob: encoded.data };
  }
  return { uri, mimeType: mimeType ?? "application/json", text: text(value) };
}

/** A prompt's messages. */
export async function promptAnswer(value) {
  const whole = isPlainObject(value) && Array.isArray(value.messages) ? value : { messages: value };
  return { result: text({ ...whole, messages: await messagesOf(whole.messages) }) };
}

/** Strings, content and messages as MCP messages; of content blocks, one each. */
export function messagesOf(values) {
  const messages = (Array.isArray(values) ? values : [values]).flatMap((value) => {
    if (typeof value === "string" || isContent(value) || isBlock(value)) return [["user", value, {}]];
    if (!isPlainObject(value) || value.content === undefined) {
      throw new TypeError('a message is a string, content, or { role: "user" | "assistant", content }');
    }
    const { role = "user", content, ...rest } = value;
    // Uses of tools and their results belong together (sampling of MCP 2025-11-25).
    if (!Array.isArray(content) || content.some(isOfTool)) return [[role, content, rest]];
    return content.map((block) => [role, block, rest]);
  });
  const blocks = messages.map(([, block], index) =>
    Array.isArray(block) ? allOf(block.map(messageBlock)) : messageBlock(block, index),
  );
  const withRoles = (blocks) => blocks.map((content, index) => ({ role: messages[index][0], content, ...messages[index][2] }));
  const ready = allOf(blocks);
  return ready instanceof Promise ? ready.then(withRoles) : withRoles(ready);
}

const isOfTool = (block) => /^tool_/.test(block?.type);
const messageBlock = (block, index) => (isOfTool(block) ? block : blockOf(block, index));

/** What fits so far. */
export async function completionAnswer(value = []) {
  const { values, ...rest } = Array.isArray(value) ? { values: value } : value;
  if (!Array.isArray(values) || values.some((text) => typeof text !== "string")) {
    throw new TypeError("complete() must return an array of strings, or { values, total?, hasMore? }");
  }
  const cut = values.length > MAX_VALUES && { total: values.length, hasMore: true };
  return { result: text({ values: values.slice(0, MAX_VALUES), ...cut, ...rest }) };
}

/** What a handler threw. */
export function thrown(error) {
  const message = error?.message || (typeof error === "string" && error) || "it threw something without a message";
  return { message: String(message), code: error?.code, data: safeText(error?.data) };
}

const text = (value) => jsonOf(value, "the result", (message) => new TypeError(message));

function safeText(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Converts the results of tools to the single text that the browser passes on, and back. */

import type { HandlerOutcome } from "../mcp-web/core.ts";
import { isPlainObject } from "../mcp-web/type-guards.ts";

/** The fields of MCP's `CallToolResult`. */
const RESULT_FIELDS = ["content", "structuredContent", "_meta", "isError"];

/** A block of content, with the fields that are read. */
interface Block {
  type: string;
  text?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  resource?: { uri?: string; text?: string; mimeType?: string };
}

/** Returns the text for a result. The browser would replace an empty one by its own sentence. */
export function outcomeText({ result, content, structuredContent }: HandlerOutcome): string {
  if (content === undefined) return valueText(result);
  const blocks = (JSON.parse(content) as Block[]).map(blockText);
  return blocks.join("\n") || (structuredContent ?? "(empty)");
}

/** A text is passed on unchanged, and any other value as JSON. */
function valueText(json = "null"): string {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value || "(empty)" : json;
}

function blockText({ type, text, mimeType, uri, name, resource }: Block): string {
  const ownText = text ?? resource?.text;
  if (ownText !== undefined) return ownText;
  if (type === "resource_link") return `${name}: ${uri}`;
  const kind = mimeType ?? resource?.mimeType;
  return `(${kind ? `${type} of type ${kind}` : type}: the browser passes only text on)`;
}

/** Returns the text for a failure. An exception of a tool would be lost on the way to the caller. */
export function failureText(error: string, code: string, data?: string): string {
  return JSON.stringify({ isError: true, error, code, ...(data !== undefined && { data: JSON.parse(data) }) });
}

/**
 * Returns the answer of a tool of the browser: a text, or an MCP result that the browser has converted to JSON. Throws if
 * it is a failure that another page's SDK has converted to a text.
 */
export function parseAnswer(text: string): unknown {
  const value = text.startsWith("{") ? parseJson(text) : undefined;
  if (!isPlainObject(value)) return text;
  if (value.isError === true && typeof value.error === "string") {
    throw Object.assign(new Error(value.error), { code: value.code, data: value.data });
  }
  if (!Array.isArray(value.content) || !Object.keys(value).every((field) => RESULT_FIELDS.includes(field))) return text;
  if (!value.content.every((block) => typeof block?.type === "string")) return text;
  // MCP allows only objects. Polyfills of earlier drafts put texts there.
  const { structuredContent, ...rest } = value;
  return isPlainObject(structuredContent) ? value : rest;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

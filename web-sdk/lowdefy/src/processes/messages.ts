/** Messages between the host and a session process. The host checks those that it receives. */

import type { PageToolsLimits } from "mcp-web-sdk/page-driver";

import type { AppUser } from "../engine/app.ts";
import type { PagePluginModules } from "../engine/plugins.ts";

/** Settings of a session process, before it has a user. */
export interface ProcessSettings {
  /** The actions, operators and blocks of the app. */
  plugins: PagePluginModules;
  /** Texts that may be run as code or pattern. */
  knownTexts: string[];
  /** Names of operators and actions that may run any text. */
  dynamicOperators: string[];
  /** Maximum size of a session's state in bytes, and maximum number of items of a list. */
  maxStateBytes: number;
  maxListItems: number;
  /** The default format of a page's text. */
  format: "outline" | "markdown";
  page: Partial<PageToolsLimits>;
}

/** Methods of calls in a session. */
export const METHODS = ["create", "navigate", "interact", "state", "pages", "snapshot", "query"] as const;
export type Method = (typeof METHODS)[number];

/** A call in a session. */
export interface SessionCall {
  method: Method;
  sessionId: string;
  user: AppUser;
  args: Record<string, unknown>;
  /** The way in which the call was made. */
  via: string;
  /** Maximum size of the result for the client. */
  maxResultBytes?: number | undefined;
  /** The session, if the process does not have it or has an older version. */
  saved?: unknown;
  /** The number of this opening of the session. */
  opening: number;
}

export type HostMessage =
  | { type: "start"; settings: ProcessSettings }
  | { type: "call"; id: number; call: SessionCall }
  | { type: "cancel"; id: number }
  | { type: "forget"; sessionId: string }
  | { type: "hostResult"; id: number; value: unknown }
  | { type: "hostFailure"; id: number; failure: ProcessFailure }
  | { type: "ping"; id: number };

/** Methods of the host that a session process may call. */
export const HOST_METHODS = ["page", "pages", "root", "request", "save"] as const;
export type HostMethod = (typeof HOST_METHODS)[number];

/** A call of the host about a session. */
export interface HostCall {
  method: HostMethod;
  sessionId: string;
  /** The {@link SessionCall.opening} of the call that opened the session. */
  opening: number;
  input: Record<string, unknown>;
}

export type ProcessMessage =
  | { type: "started" }
  | { type: "failed"; message: string }
  | { type: "result"; id: number; value: unknown }
  | { type: "failure"; id: number; failure: ProcessFailure }
  | ({ type: "hostCall"; id: number } & HostCall)
  | { type: "pong"; id: number }
  | { type: "log"; text: string };

/** The error of a call. */
export interface ProcessFailure {
  message: string;
  name?: string | undefined;
  code?: string | undefined;
  reason?: string | undefined;
  /** Whether the session is not in the process. */
  isLost?: boolean | undefined;
}

const MAX_MESSAGE_CHARS = 10_000;
const MAX_NAME_CHARS = 100;

/**
 * Returns a validated message of a session process.
 *
 * @throws Error for anything else, because foreign code may run in the process.
 */
export function checkProcessMessage(value: unknown): ProcessMessage {
  const message = asObject(value, "it has sent something that is not a message");
  const { type, id } = message;
  if (type === "started") return { type };
  if (type === "failed" && typeof message.message === "string") return { type, message: message.message.slice(0, MAX_MESSAGE_CHARS) };
  if (type === "log" && typeof message.text === "string") return { type, text: lineOf(message.text) };
  if (typeof id !== "number" || !Number.isSafeInteger(id)) throw new Error("it has sent a message without an id");
  if (type === "pong") return { type, id };
  if (type === "result") return { type, id, value: message.value };
  if (type === "failure") return { type, id, failure: checkFailure(message.failure) };
  const { method, sessionId, opening, input } = message;
  if (type !== "hostCall" || !isOneOf(HOST_METHODS, method) || typeof sessionId !== "string" || typeof opening !== "number") throw new Error("it has sent an unknown message");
  return { type, id, method, sessionId, opening, input: asObject(input, "it has called its host without an input") };
}

/** A line of the log must not look like several lines. */
const lineOf = (text: string): string => text.slice(0, MAX_MESSAGE_CHARS).replace(/\p{Cc}+/gu, " ");

function checkFailure(value: unknown): ProcessFailure {
  const { message, code, reason, isLost } = asObject(value, "it has sent a failure without a reason");
  if (typeof message !== "string") throw new Error("it has sent a failure without a message");
  return {
    message: message.slice(0, MAX_MESSAGE_CHARS),
    // The only code of page tools; others are the host's.
    ...(code === "InvalidArguments" && { code }),
    ...(typeof reason === "string" && /^\w+$/.test(reason) && { reason: reason.slice(0, MAX_NAME_CHARS) }),
    ...(isLost === true && { isLost }),
  };
}

/** Returns the result of a page tool without unknown members. @throws Error for anything else. */
export function checkToolResult(method: Method, value: unknown): object {
  const result = asObject(value, "it has sent a result that is not an object");
  if (method === "state" || method === "pages" || method === "create") return result;
  const { content, isError, _meta } = result;
  if (!Array.isArray(content) || !content.every((block) => block?.type === "text" && typeof block.text === "string")) {
    throw new Error("it has sent a result that is not text");
  }
  const facts = asObject(asObject(_meta, "it has sent a result without facts")["mcp-web/page"], "it has sent a result without facts");
  return {
    content: content.map(({ text }: { text: string }) => ({ type: "text", text })),
    _meta: { "mcp-web/page": facts },
    ...(isError === true && { isError }),
  };
}

/** Converts an error for the channel. */
export function failureOf(error: unknown): ProcessFailure {
  const { message, name, code, data } = error as { message?: unknown; name?: string; code?: unknown; data?: { reason?: unknown } };
  const { reason } = data ?? {};
  return {
    message: typeof message === "string" ? message : String(error),
    ...(typeof name === "string" && { name }),
    ...(typeof code === "string" && { code }),
    ...(typeof reason === "string" && { reason }),
  };
}

/** Returns the error that a failure describes. */
export function errorOf({ message, name, code, reason }: ProcessFailure): Error {
  const error = Object.assign(new Error(message), code !== undefined && { code }, reason !== undefined && { data: { reason } });
  if (name !== undefined) error.name = name;
  return error;
}

/** Returns a text of the input of a call. @throws Error if it is missing or too long. */
export function textIn(input: Record<string, unknown>, name: string, maxChars = 1000): string {
  const value = input[name];
  if (typeof value !== "string" || value.length > maxChars) throw new Error(`it has called its host with a wrong ${name}`);
  return value;
}

const isOneOf = <Value extends string>(values: readonly Value[], value: unknown): value is Value => values.includes(value as Value);

function asObject(value: unknown, otherwise: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(otherwise);
  return value as Record<string, unknown>;
}

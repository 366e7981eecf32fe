/** Collects the results of the page's tools for an agent, before it begins. */

import type { CallContext } from "../types/calls.ts";
import type { CreateError, PageTool, QueriesPort, ToolOutcome } from "./messages.ts";

/** The part of the page that this file uses. */
export type ContextPort = Pick<QueriesPort, "McpWebError" | "parseWith" | "toolResult" | "elicitInPage" | "dialog"> & { createError: CreateError };

/** Runs the tool's handler, and returns an item of context. No AI client is involved. */
export async function contextFromTool({ id, definition, json }: PageTool, args: object, port: ContextPort, signal: AbortSignal) {
  const outcome = await runTool(id, definition, args, port, signal);
  const { value, isStructured } = parseOutcome(outcome);
  const { description, outputSchema } = definition;
  const call = Object.keys(args).length ? `called with ${JSON.stringify(args)}` : undefined;
  return {
    name: id,
    value,
    ...(isStructured && outputSchema && { schema: JSON.parse(json).outputSchema }),
    ...((description || call) && { description: [description, call].filter(Boolean).join("; ") }),
    type: "tool",
  };
}

async function runTool(name: string, definition: PageTool["definition"], args: object, port: ContextPort, signal: AbortSignal) {
  let outcome;
  try {
    const input = await port.parseWith(definition.inputSchema, args, "InvalidArguments", "its arguments are invalid");
    const value: unknown = await definition.handler(input, createContext(name, port, signal));
    outcome = await port.toolResult(value, {} as Parameters<QueriesPort["toolResult"]>[1]);
  } catch (cause) {
    throw toolError(name, (cause as Error | undefined)?.message ?? String(cause), port, { cause });
  }
  if (outcome.message !== undefined) throw toolError(name, outcome.message, port);
  return outcome;
}

function toolError(name: string, reason: string, { createError }: ContextPort, options?: ErrorOptions) {
  const remedy = "mend what the tool returns, or ask without it";
  return createError("HandlerFailed", `query(): the tool "${name}", which context names, has failed: ${reason}`, remedy, options);
}

/** A block of content, with the fields that are read. */
type Block = { type: string; text?: string; mimeType?: string; uri?: string; resource?: { text?: string; mimeType?: string } };

/** Context is JSON, so images and bytes are only named. */
function parseOutcome({ result, content, structuredContent }: ToolOutcome): { value: unknown; isStructured: boolean } {
  if (content === undefined) return { value: JSON.parse(result ?? "null"), isStructured: true };
  if (structuredContent !== undefined) return { value: JSON.parse(structuredContent), isStructured: true };
  const texts = (JSON.parse(content) as Block[]).map(
    ({ type, text, mimeType, resource, uri }) => text ?? resource?.text ?? `[${mimeType ?? resource?.mimeType ?? uri ?? type}]`,
  );
  return { value: texts.join("\n"), isStructured: false };
}

/** Returns the context of the handler: the call has no client, but the user of the page may be asked. */
function createContext(name: string, port: ContextPort, signal: AbortSignal): CallContext {
  const refuse = (what: string) =>
    Promise.reject(new port.McpWebError("ClientCapabilityMissing", `the page itself calls "${name}" for a query: there is no client to ${what}`));
  return {
    callId: `query:${name}`,
    signal,
    client: undefined,
    caller: Object.freeze({ via: "page", roles: [] }),
    trace: {},
    progress() {},
    log() {},
    handOver() {},
    elicit: (request: { message: string }): Promise<any> =>
      (port.elicitInPage() ?? "never") === "never" ? refuse("elicit from") : port.dialog({ asker: "This page", tool: name, ...request }, signal),
    sample: () => refuse("sample with"),
    listRoots: () => refuse("list the roots of"),
  };
}

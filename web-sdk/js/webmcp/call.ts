/** A call of one of the page's tools by an agent of the browser. */

import type { Calls } from "../mcp-web/calls.ts";
import type { HandlerOutcome } from "../mcp-web/core.ts";
import { randomHex } from "../mcp-web/random.ts";
import type { Registration } from "../mcp-web/registration.ts";
import { isPlainObject } from "../mcp-web/type-guards.ts";
import { failureText, outcomeText } from "./results.ts";

/** The timeout of a tool that does not set one: the browser has none. */
const CALL_TIMEOUT_MS = 300_000;

/** The codes that an error of a handler may have, as over the bridge. */
const HANDLER_ERROR_CODES: unknown[] = [
  "ClientCapabilityMissing",
  "ClientRequestFailed",
  "InvalidArguments",
  "InvalidResult",
  "PromptNotFound",
  "ResourceNotFound",
  "ResultTooLarge",
  "ToolNotAllowed",
];

/** A failure of a call: its code, its message, and the error's data as JSON. */
interface Failure {
  code: string;
  message: string;
  data?: string | undefined;
}

/** Runs the tool, and returns the text for the browser. The promise is never rejected. */
export async function callTool(
  calls: Calls["hostBindings"],
  registration: Registration,
  given: unknown,
  signal: AbortSignal | undefined,
): Promise<string> {
  const input = isPlainObject(given) ? given : {};
  const { definition, id } = registration;
  const violation = await invalid(definition.inputSchema, input, `the arguments of "${id}" are invalid`);
  if (violation) return failureText(violation, "InvalidArguments");
  return runTool(calls, registration, input, signal);
}

function runTool(
  calls: Calls["hostBindings"],
  { key, definition, id }: Registration,
  toolInput: object,
  signal: AbortSignal | undefined,
): Promise<string> {
  const callId = `webmcp-${randomHex(8)}`;
  return new Promise((resolve) => {
    const end = (text: string, phase: string, failure?: Failure) => {
      clearTimeout(timer);
      signal?.removeEventListener?.("abort", cancel);
      calls.callEnded(callId, phase, failure?.code, failure?.message);
      resolve(text);
    };
    const fail = (phase: string, failure: Failure) => end(failureText(failure.message, failure.code, failure.data), phase, failure);
    const cancel = () => fail("cancelled", { code: "CallCancelled", message: "the caller cancelled the call" });
    const timeout: number = definition.timeout ?? CALL_TIMEOUT_MS;
    const timer = setTimeout(
      () => fail("cancelled", { code: "CallTimeout", message: `"${id}" did not answer within ${timeout} ms` }),
      timeout,
    );
    if (signal?.aborted) return cancel();
    signal?.addEventListener?.("abort", cancel);
    calls.call(callId, key, { type: "tool-call", toolInput, context: { caller: { via: "webmcp" } } }).then(async (outcome) => {
      const failure = failureOf(outcome) ?? (await invalidResult(definition.outputSchema, outcome, id));
      failure ? fail("failed", failure) : end(outcomeText(outcome), "finished");
    });
  });
}

function failureOf({ message, code, data }: HandlerOutcome): Failure | undefined {
  if (message === undefined) return undefined;
  return { message, code: HANDLER_ERROR_CODES.includes(code) ? (code as string) : "HandlerFailed", data };
}

async function invalidResult(schema: unknown, { result, structuredContent }: HandlerOutcome, id: string): Promise<Failure | undefined> {
  const json = structuredContent ?? result;
  const message = json && (await invalid(schema, JSON.parse(json), `the result of "${id}" is invalid`));
  return message ? { code: "InvalidResult", message } : undefined;
}

/**
 * Returns the validation error of a value if its schema is plain JSON Schema, because the browser does not validate. A
 * schema of a library validates when the handler runs.
 */
async function invalid(schema: any, value: unknown, subject: string): Promise<string | undefined> {
  if (schema === undefined || typeof schema["~standard"]?.validate === "function") return undefined;
  let violations;
  try {
    const { validateJsonSchema } = await import("../mcp-web-schema-validator.ts");
    violations = validateJsonSchema(schema, value);
  } catch (error) {
    violations = [{ path: "", message: `the schema cannot be used (${(error as Error).message})` }];
  }
  if (!violations.length) return undefined;
  return `${subject}: ${violations.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ")}`;
}

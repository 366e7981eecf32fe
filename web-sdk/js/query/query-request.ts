/** Builds the message to an agent from the app's arguments of `query()`. */

import { type ContextPort, contextFromTool } from "./context.ts";
import { encodeAttachment } from "./attachments.ts";
import { CONVERSATION_ID, CONVERSATION_ID_REMEDY } from "./conversations.ts";
import type { PageTool, QueriesPort } from "./messages.ts";

const OPTIONS = [
  "prompt",
  "context",
  "tools",
  "restrictTools",
  "responseTool",
  "responseSchema",
  "approve",
  "approvalDialog",
  "profile",
  "attachments",
  "conversation",
  "timeout",
  "trace",
];

/** The name of a profile of the agent's own tools. */
const PROFILE = /^[a-zA-Z0-9_-]{1,32}$/;

/** An object with unknown fields. */
type UnknownObject = { [field: string]: any };

/** Creates the error for invalid options. */
type CreateInvalid = (what: string, remedy: string) => Error;

/** The part of the page that this file uses. */
export type RequestPort = ContextPort & Pick<QueriesPort, "importImages" | "jsonSchema"> & { tools(): PageTool[] };

/** The fields of the `query` message. */
export interface QueryRequest {
  prompt: string;
  tools?: object[];
  restrictTools?: boolean;
  responseTool?: { name: string };
  timeout?: number;
  responseSchema?: object;
  approve?: string[];
  attachments?: object[];
  conversation?: string;
  profile?: string;
  trace?: object;
  localTime: string;
  context: object[];
}

const isObject = (value: unknown): value is UnknownObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** Values that are `undefined` inside of the options are `null` in their JSON. */
const isMissing = (value: unknown): boolean => value === null || value === undefined;

/**
 * Returns the fields of the message. `given` are the options that the app has passed; `options` are the same at that time,
 * as JSON, with `null` for missing values. `signal` fires when the query has ended.
 */
export async function buildQueryRequest(
  given: UnknownObject,
  options: unknown,
  port: RequestPort,
  signal: AbortSignal,
): Promise<QueryRequest> {
  const invalid: CreateInvalid = (what, remedy) => port.createError("QueryInvalid", `query(): ${what}`, remedy);
  if (!isObject(options) || !isObject(given)) throw invalid("it needs an object", 'pass one such as { prompt: "Summarise the board" }');
  const unknown = Object.keys(given).find((option) => !OPTIONS.includes(option));
  if (unknown) throw invalid(`there is no option "${unknown}"`, `the options are ${OPTIONS.join(", ")}`);
  const { prompt, context, restrictTools, responseTool, timeout, approve, approvalDialog, profile, conversation, trace } = options;
  const { responseSchema, attachments } = given;
  if (typeof prompt !== "string" || !prompt.trim()) {
    throw invalid("the prompt must be a text that is not empty", "say in it what the agent should do");
  }
  if (!isMissing(context) && !Array.isArray(context)) {
    throw invalid("context must be an array", "put what the agent should know into one: context: [{ name, value }]");
  }
  if (options.tools && !Array.isArray(options.tools)) throw invalid("tools must be an array", "put handles or names into one");
  if (restrictTools && !options.tools) throw invalid("restrictTools without tools means nothing", "name the tools it may call");
  if (timeout && !(Number.isSafeInteger(timeout) && timeout > 0)) {
    throw invalid("timeout must be a whole number of milliseconds, from 1", "pass one such as 60000, or none");
  }
  if (approve && !Array.isArray(approve)) throw invalid("approve must be an array", "put handles or names of tools into one");
  if (!isMissing(approvalDialog) && typeof approvalDialog !== "boolean") {
    throw invalid("approvalDialog must be true or false", "pass one of them, or nothing");
  }
  if (!isMissing(profile) && !(typeof profile === "string" && PROFILE.test(profile))) {
    throw invalid("profile must be a name", "pass 1 to 32 characters of a-z, A-Z, 0-9, _ and -");
  }
  if (attachments && !Array.isArray(attachments)) throw invalid("attachments must be an array", "put files into one");
  if (!isMissing(conversation) && !CONVERSATION_ID.test(conversation)) {
    throw invalid("conversation must be an id", CONVERSATION_ID_REMEDY);
  }
  if (responseSchema && responseTool) throw invalid("responseSchema and responseTool exclude each other", "pass one of them");
  const schema = responseSchema && port.jsonSchema(responseSchema, "input");
  if (responseSchema && !isObject(schema)) {
    throw invalid("responseSchema has no JSON Schema", "pass JSON Schema, or a schema of a library that converts itself");
  }
  const tools = new Tools(port, !isMissing(profile));
  const request = {
    prompt,
    ...(options.tools && { tools: options.tools.map((tool: unknown) => tools.describeAny(tool, "tools")) }),
    ...(typeof restrictTools === "boolean" && { restrictTools }),
    ...(responseTool && { responseTool: tools.describe(responseTool, "responseTool") }),
    ...(timeout && { timeout }),
    ...(schema && { responseSchema: schema }),
    ...(approve && { approve: approve.map((tool: unknown) => tools.describeAny(tool, "approve").name) }),
    ...(conversation && { conversation }),
    ...(profile && { profile }),
    ...(isObject(trace) && { trace }),
    localTime: localTime(),
  };
  // All items are checked first, so that no tool runs for a rejected query.
  const items = ((context ?? []) as unknown[]).map((item, index) => parseItem(item, given.context?.[index], tools, invalid));
  const values = items.map((item) => ("tool" in item ? contextFromTool(item.tool, item.arguments, port, signal) : item));
  const files = attachments?.map((attachment: unknown) => encodeAttachment(attachment, port, invalid));
  return {
    ...request,
    ...(files && { attachments: await Promise.all(files) }),
    context: await Promise.all(values),
  };
}

/** An item of context is a value, or a tool of the page that returns one. */
function parseItem(item: unknown, given: UnknownObject | undefined, tools: Tools, invalid: CreateInvalid) {
  const hasValue = (it: unknown) => isObject(it) && "value" in it;
  if (hasValue(item) || hasValue(given)) return valueItem(item as UnknownObject, given?.value, invalid);
  const { tool = item, arguments: args }: UnknownObject = isObject(item) ? item : {};
  return { tool: tools.find(tool, "context"), arguments: args ?? {} };
}

function valueItem({ name, value, schema, description }: UnknownObject, given: unknown, invalid: CreateInvalid) {
  if (typeof name !== "string" || !name) throw invalid("an item of context needs a name", "pass { name, value }");
  const kind = describeNonJson(value, given);
  if (kind) throw invalid(`the value of context "${name}" is ${kind}, which is not JSON`, "pass text, numbers, arrays or plain objects");
  if (schema && !isObject(schema)) throw invalid(`the schema of context "${name}" must be a JSON Schema object`, "pass one, or none");
  return {
    name,
    value,
    ...(schema && { schema }),
    ...(typeof description === "string" && { description }),
    type: "ephemeral",
  };
}

/** Describes a value that cannot be sent: functions, and objects whose JSON is empty, such as a `Blob` or a `Map`. */
function describeNonJson(value: unknown, given: unknown): string | undefined {
  if (["function", "symbol"].includes(typeof given)) return `a ${typeof given}`;
  const isEmptied = isObject(value) && !Object.keys(value).length;
  const prototype = isEmptied && isObject(given) && Object.getPrototypeOf(given);
  return prototype && Object.getPrototypeOf(prototype) ? `a ${(given as object).constructor?.name ?? "special object"}` : undefined;
}

/** The information about a tool for the agent. Of the agent's own tools, the page only knows names. */
interface ToolInfo {
  name: string;
  description?: string;
  inputSchema?: object;
  outputSchema?: object;
}

/** The current tools of the page. */
class Tools {
  readonly #port: RequestPort;
  readonly #tools: PageTool[];
  readonly #hasProfile: boolean;

  /** `hasProfile` says whether the app may also name tools of the agent. */
  constructor(port: RequestPort, hasProfile: boolean) {
    this.#port = port;
    this.#tools = port.tools().filter(({ kind }) => kind === "tool");
    this.#hasProfile = hasProfile;
  }

  /** `tool` is its name or its handle; `option` is where the app names it. */
  find(tool: unknown, option: string): PageTool {
    const known = this.#known(tool);
    if (!known) throw this.#notFound(tool, option);
    return known;
  }

  /** Returns the information for the agent about a tool of the page. */
  describe(tool: unknown, option: string): ToolInfo {
    return describe(this.find(tool, option));
  }

  /** Returns the information for the agent about a tool. It may be a tool of the agent, which only the agent knows. */
  describeAny(tool: unknown, option: string): ToolInfo {
    const known = this.#known(tool);
    if (known) return describe(known);
    const isName = typeof tool === "string" && tool !== "";
    if (isName && this.#hasProfile) return { name: tool };
    throw this.#notFound(tool, option, isName ? ", or give `profile` to name tools of the agent" : "");
  }

  #known(tool: any): PageTool | undefined {
    const name = tool?.name ?? tool;
    return this.#tools.find(({ id }) => id === name);
  }

  #notFound(tool: any, option: string, alternative = ""): Error {
    const name = tool?.name ?? tool;
    const names = this.#tools.map(({ id }) => id).join(", ");
    const what = typeof name === "string" && name ? `the page has no tool "${name}", which ${option} names` : `${option} names a tool by its handle or its name`;
    const remedy = `add it before, or choose one of those it has (${names || "none"})${alternative}`;
    return this.#port.createError("ToolNotFound", `query(): ${what}`, remedy);
  }
}

function describe({ json }: PageTool): ToolInfo {
  const { name, description, inputSchema, outputSchema } = JSON.parse(json);
  return { name, description, inputSchema, outputSchema };
}

const digits = (number: number, length = 2) => String(Math.trunc(Math.abs(number))).padStart(length, "0");

/**
 * Returns the date and time of the page, for prompts such as "What is due today?", with its offset and time zone, in the
 * format of RFC 9557.
 */
export function localTime(now = new Date()): string {
  const offset = -now.getTimezoneOffset();
  const date = `${digits(now.getFullYear(), 4)}-${digits(now.getMonth() + 1)}-${digits(now.getDate())}`;
  const time = `${digits(now.getHours())}:${digits(now.getMinutes())}:${digits(now.getSeconds())}`;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${date}T${time}${offset < 0 ? "-" : "+"}${digits(offset / 60)}:${digits(offset % 60)}${zone ? `[${zone}]` : ""}`;
}

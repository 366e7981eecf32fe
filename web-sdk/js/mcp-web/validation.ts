/** Requirements that a definition must meet before it can be offered. */

import { toJson } from "./json.ts";
import type { AnyDefinition, DefinitionKind } from "./registration.ts";
import { toJsonSchema } from "./schemas.ts";
import { isObject, isPlainObject } from "./type-guards.ts";

/** Creates the error for an invalid definition. */
type CreateError = (message: string) => TypeError;

/** For each kind: the method that adds it, the field that identifies it, and the function that does the work. */
const KINDS = {
  tool: { method: "addTool", id: "name", work: "handler", example: "handler(input, ctx)" },
  prompt: { method: "addPrompt", id: "name", work: "get", example: "get(args, ctx)" },
  resource: { method: "addResource", id: "uri", work: "read", example: "read(uri, ctx)" },
  "resource-template": {
    method: "addResourceTemplate",
    id: "uriTemplate",
    work: "read",
    example: "read(uri, variables, ctx)",
  },
};

/** Returns the id of the definition, and its JSON text. */
export function validateDefinition(kind: DefinitionKind, definition: unknown): { id: string; json: string } {
  const { method, id, work, example } = KINDS[kind];
  if (!isObject(definition)) throw new TypeError(`${method}() needs an object: { ${id}, description, …, ${example} }`);
  const name = definition[id];
  const createError = (what: string) => new TypeError(`${method}(): ${what}`);
  if (typeof name !== "string" || !name) throw createError(`${id} must be a non-empty string`);
  const subject = `${kind} "${name}"`;
  if (typeof definition[work] !== "function") throw createError(`${subject} needs a function ${example}`);
  for (const field of ["title", "description", "mimeType"]) {
    const text = definition[field];
    if (text !== undefined && typeof text !== "string") throw createError(`the ${field} of ${subject} must be a string`);
  }
  if (id !== "name" && (typeof definition.name !== "string" || !definition.name)) {
    throw createError(`${subject} needs a name: a non-empty string`);
  }
  VALIDATORS[kind](definition, subject, createError);
  // Functions have no JSON, and an object of functions would become empty. `webmcp` concerns only the page.
  const { complete, webmcp, ...fields }: AnyDefinition = definition;
  if (kind === "tool") {
    moveTimeout(fields);
    for (const side of ["input", "output"] as const) convertSchema(fields, side, subject, createError);
  }
  if (complete !== undefined && typeof complete !== "function" && kind !== "resource-template") fields.complete = complete;
  return { id: name, json: toJson(fields, `the definition of ${subject}`, createError)! };
}

const VALIDATORS: { [kind in DefinitionKind]: (definition: AnyDefinition, subject: string, createError: CreateError) => void } = {
  tool(tool, subject, createError) {
    const { timeout } = tool;
    if (timeout !== undefined && !(Number.isSafeInteger(timeout) && timeout > 0)) {
      throw createError(`the timeout of ${subject} must be a whole number of milliseconds, from 1`);
    }
  },
  prompt({ arguments: list }, subject, createError) {
    if (list === undefined) return;
    if (!Array.isArray(list)) {
      throw createError(`the arguments of ${subject} must be an array of { name, description?, required?, complete? }`);
    }
    for (const argument of list) {
      if (typeof argument?.name !== "string" || !argument.name) throw createError(`each argument of ${subject} needs a name`);
      validateCompleter(argument.complete, `${argument.name} of ${subject}`, createError);
    }
  },
  resource({ uri, onSubscribe, onUnsubscribe }, subject, createError) {
    if (!isUrl(uri)) throw createError(`${subject}: its uri must be absolute, such as "board://cards"`);
    for (const listener of [onSubscribe, onUnsubscribe]) {
      if (listener !== undefined && typeof listener !== "function") {
        throw createError(`onSubscribe and onUnsubscribe of ${subject} must be functions`);
      }
    }
  },
  "resource-template"({ uriTemplate, complete = {} }, subject, createError) {
    if (!uriTemplate.includes("{")) {
      throw createError(`${subject} has no variable: write one as {name} (RFC 6570), or use addResource()`);
    }
    if (!isObject(complete)) {
      throw createError(`complete of ${subject} must be an object: { variable: (value, ctx) => values }`);
    }
    for (const [variable, completer] of Object.entries(complete)) {
      validateCompleter(completer, `${variable} of ${subject}`, createError);
    }
  },
};

/** Replaces a library's schema by its published JSON Schema. */
function convertSchema(tool: AnyDefinition, side: "input" | "output", subject: string, createError: CreateError): void {
  const field = `${side}Schema`;
  if (tool[field] === undefined) return;
  let problem = "";
  let schema;
  try {
    schema = toJsonSchema(tool[field], side);
  } catch (cause) {
    problem = ` (${(cause as Error).message})`;
  }
  if (!isPlainObject(schema)) {
    throw createError(
      `${field} of ${subject} must be a JSON Schema, or a schema that converts to one${problem}: see z.toJSONSchema()`,
    );
  }
  tool[field] = schema;
}

/** MCP's tools have no such field, so it is moved to `_meta`. */
function moveTimeout(tool: AnyDefinition): void {
  if (tool.timeout !== undefined) tool._meta = { ...tool._meta, "mcp-web/timeout": tool.timeout };
  delete tool.timeout;
}

function validateCompleter(complete: unknown, subject: string, createError: CreateError): void {
  if (complete !== undefined && typeof complete !== "function") {
    throw createError(`complete for ${subject} must be a function: (value, ctx) => values`);
  }
}

function isUrl(uri: string): boolean {
  try {
    return Boolean(new URL(uri));
  } catch {
    return false;
  }
}

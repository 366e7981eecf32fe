/** What must be right about a definition before it can be offered at all. */

import { jsonOf } from "./json.js";
import { isObject, isPlainObject } from "./objects.js";

/** Of each kind: the method that adds it, the field that it is known by, and the function that does the work. */
const KINDS = {
  tool: { method: "addTool", id: "name", work: "handler", example: 'handler(input, ctx)' },
  prompt: { method: "addPrompt", id: "name", work: "get", example: "get(args, ctx)" },
  resource: { method: "addResource", id: "uri", work: "read", example: "read(uri, ctx)" },
  "resource-template": {
    method: "addResourceTemplate",
    id: "uriTemplate",
    work: "read",
    example: "read(uri, variables, ctx)",
  },
};

/** Returns the name that the definition is known by, and its JSON text. */
export function checked(kind, definition) {
  const { method, id, work, example } = KINDS[kind];
  if (!isObject(definition)) throw new TypeError(`${method}() needs an object: { ${id}, description, …, ${example} }`);
  const name = definition[id];
  const wrong = (what) => new TypeError(`${method}(): ${what}`);
  if (typeof name !== "string" || !name) throw wrong(`${id} must be a non-empty string`);
  const it = `${kind} "${name}"`;
  if (typeof definition[work] !== "function") throw wrong(`${it} needs a function ${example}`);
  for (const field of ["title", "description", "mimeType"]) {
    const text = definition[field];
    if (text !== undefined && typeof text !== "string") throw wrong(`the ${field} of ${it} must be a string`);
  }
  if (id !== "name" && (typeof definition.name !== "string" || !definition.name)) {
    throw wrong(`${it} needs a name: a non-empty string`);
  }
  SPECIAL[kind](definition, it, wrong);
  // Functions have no JSON; an object of them would be left empty.
  const { complete, ...facts } = definition;
  if (kind === "tool") placeTimeout(facts);
  if (complete !== undefined && typeof complete !== "function" && kind !== "resource-template") facts.complete = complete;
  return { id: name, json: jsonOf(facts, `the definition of ${it}`, wrong) };
}

const SPECIAL = {
  tool(tool, it, wrong) {
    const { timeout } = tool;
    if (timeout !== undefined && !(Number.isSafeInteger(timeout) && timeout > 0)) {
      throw wrong(`the timeout of ${it} must be a whole number of milliseconds, from 1`);
    }
    for (const field of ["inputSchema", "outputSchema"]) {
      const schema = tool[field];
      if (schema !== undefined && !isPlainObject(schema)) {
        throw wrong(
          `${field} of ${it} must be a JSON Schema object such as { type: "object", properties: {…} }; ` +
            "libraries have a conversion, for example z.toJSONSchema(schema)",
        );
      }
    }
  },
  prompt({ arguments: list }, it, wrong) {
    if (list === undefined) return;
    if (!Array.isArray(list)) throw wrong(`the arguments of ${it} must be an array of { name, description?, required?, complete? }`);
    for (const argument of list) {
      if (typeof argument?.name !== "string" || !argument.name) throw wrong(`each argument of ${it} needs a name`);
      checkCompleter(argument.complete, `${argument.name} of ${it}`, wrong);
    }
  },
  resource({ uri, onSubscribe, onUnsubscribe }, it, wrong) {
    if (!URL.canParse?.(uri) && !parses(uri)) throw wrong(`${it}: its uri must be absolute, such as "board://cards"`);
    for (const listener of [onSubscribe, onUnsubscribe]) {
      if (listener !== undefined && typeof listener !== "function") {
        throw wrong(`onSubscribe and onUnsubscribe of ${it} must be functions`);
      }
    }
  },
  "resource-template"({ uriTemplate, complete = {} }, it, wrong) {
    if (!uriTemplate.includes("{")) {
      throw wrong(`${it} has no variable: write one as {name} (RFC 6570), or use addResource()`);
    }
    if (!isObject(complete)) throw wrong(`complete of ${it} must be an object: { variable: (value, ctx) => values }`);
    for (const [variable, completer] of Object.entries(complete)) checkCompleter(completer, `${variable} of ${it}`, wrong);
  },
};

/** MCP's tools have no such field: what is ours goes into `_meta`. */
function placeTimeout(tool) {
  if (tool.timeout !== undefined) tool._meta = { ...tool._meta, "mcp-web/timeout": tool.timeout };
  delete tool.timeout;
}

function checkCompleter(complete, what, wrong) {
  if (complete !== undefined && typeof complete !== "function") {
    throw wrong(`complete for ${what} must be a function: (value, ctx) => values`);
  }
}

function parses(uri) {
  try {
    return Boolean(new URL(uri));
  } catch {
    return false;
  }
}

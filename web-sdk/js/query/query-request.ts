/** From what an app passes to `query()` to what an agent is asked. */

import { fromTool } from "./context.js";

const OPTIONS = ["prompt", "context", "tools", "restrictTools", "responseTool", "timeout"];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The fields of the message. `given`: the options as the app has passed them; `asked`: the same as they were then, as
 * JSON has them, with `null` for what is not there. `signal` fires when nobody wants it any more.
 */
export async function questionOf(given, asked, port, signal) {
  const tools = new Tools(port);
  const wrong = (what, remedy) => port.wrong("QueryInvalid", `query(): ${what}`, remedy);
  if (!isObject(asked)) throw wrong("it needs an object", 'pass one such as { prompt: "Summarise the board" }');
  const unknown = Object.keys(given).find((option) => !OPTIONS.includes(option));
  if (unknown) throw wrong(`there is no option "${unknown}"`, `the options are ${OPTIONS.join(", ")}`);
  const { prompt, context, restrictTools, responseTool, timeout } = asked;
  if (typeof prompt !== "string" || !prompt.trim()) {
    throw wrong("the prompt must be a text that is not empty", "say in it what the agent should do");
  }
  if (context !== null && context !== undefined && !Array.isArray(context)) {
    throw wrong("context must be an array", "put what the agent should know into one: context: [{ name, value }]");
  }
  if (asked.tools && !Array.isArray(asked.tools)) throw wrong("tools must be an array", "put handles or names into one");
  if (restrictTools && !asked.tools) throw wrong("restrictTools without tools means nothing", "name the tools it may call");
  if (timeout && !(Number.isSafeInteger(timeout) && timeout > 0)) {
    throw wrong("timeout must be a whole number of milliseconds, from 1", "pass one such as 60000, or none");
  }
  const question = {
    prompt,
    ...(asked.tools && { tools: asked.tools.map((tool) => tools.told(tool, "tools")) }),
    ...(typeof restrictTools === "boolean" && { restrictTools }),
    ...(responseTool && { responseTool: tools.told(responseTool, "responseTool") }),
    ...(timeout && { timeout }),
  };
  // No tool runs for a query that is refused.
  const items = (context ?? []).map((item, index) => itemOf(item, given.context?.[index], tools, wrong));
  const facts = items.map((item) => (item.entry ? fromTool(item.entry, item.arguments, port, signal) : item));
  return { ...question, context: await Promise.all(facts) };
}

/** An item of context: something that the app knows, or one of its tools, which says it. */
function itemOf(item, given, tools, wrong) {
  const hasValue = (it) => isObject(it) && "value" in it;
  if (hasValue(item) || hasValue(given)) return ephemeral(item, given?.value, wrong);
  const { tool = item, arguments: args } = isObject(item) ? item : {};
  return { entry: tools.named(tool, "context"), arguments: args ?? {} };
}

function ephemeral({ name, value, schema, description }, given, wrong) {
  if (typeof name !== "string" || !name) throw wrong("an item of context needs a name", "pass { name, value }");
  const kind = notJson(value, given);
  if (kind) throw wrong(`the value of context "${name}" is ${kind}, which is no JSON`, "pass text, numbers, arrays or plain objects");
  if (schema && !isObject(schema)) throw wrong(`the schema of context "${name}" must be a JSON Schema object`, "pass one, or none");
  return {
    name,
    value,
    ...(schema && { schema }),
    ...(typeof description === "string" && { description }),
    type: "ephemeral",
  };
}

/** What cannot be sent, in words: functions, and objects that JSON leaves empty, such as a `Blob` or a `Map`. */
function notJson(value, given) {
  if (["function", "symbol"].includes(typeof given)) return `a ${typeof given}`;
  const isEmptied = isObject(value) && !Object.keys(value).length;
  const prototype = isEmptied && isObject(given) && Object.getPrototypeOf(given);
  return prototype && Object.getPrototypeOf(prototype) ? `a ${given.constructor?.name ?? "special object"}` : undefined;
}

/** The tools that the page has at this moment. */
class Tools {
  #port;
  #tools;

  constructor(port) {
    this.#port = port;
    this.#tools = port.tools().filter(({ kind }) => kind === "tool");
  }

  /** `tool`: its name, or its handle. */
  named(tool, where) {
    const name = tool?.name ?? tool;
    const known = this.#tools.find(({ id }) => id === name);
    if (known) return known;
    const names = this.#tools.map(({ id }) => id).join(", ");
    const what = typeof name === "string" && name ? `the page has no tool "${name}", which ${where} names` : `${where} names a tool by its handle or its name`;
    throw this.#port.wrong("ToolNotFound", `query(): ${what}`, `add it before, or choose one of those it has (${names || "none"})`);
  }

  /** As the agent is told of it. */
  told(tool, where) {
    const { name, description, inputSchema, outputSchema } = JSON.parse(this.named(tool, where).json);
    return { name, description, inputSchema, outputSchema };
  }
}

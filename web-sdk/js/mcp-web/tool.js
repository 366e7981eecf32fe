/** A tool that was added: its definition, and what becomes of it. */

import { inBrowser } from "./environment.js";
import { McpWebError } from "./error.js";
import { isObject, isPlainObject } from "./objects.js";

/** Some AI clients put a prefix before the name and cap the whole at 60 characters. */
const ADVISED_NAME_CHARS = 40;

const dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

/** What becomes of one added tool. Its promises are made to be ignored without harm. */
export class Tool {
  publishedName;
  #registration = settleable();
  #removal = settleable();
  #watched = false;

  constructor(key, name, json, handler) {
    Object.assign(this, { key, name, json, handler });
  }

  get whenRegistered() {
    this.#watched = true;
    return this.#registration.promise;
  }

  get whenRemoved() {
    return this.#removal.promise;
  }

  registered(publishedName) {
    this.publishedName = publishedName;
    this.#registration.resolve();
  }

  refused(error) {
    this.#registration.reject(error);
    if (!this.#watched) console.error(`mcp-web: tool "${this.name}" is not registered: ${error.message}`);
  }

  /** Nothing can be registered; the status says why, once for all tools. */
  unavailable(error) {
    this.#registration.reject(error);
  }

  dropped() {
    this.publishedName = undefined;
    this.#registration.reject(
      new McpWebError("ToolRemoved", `tool "${this.name}" was removed or replaced before it was registered`),
    );
  }

  gone() {
    this.#removal.resolve();
  }
}

export class ToolHandle {
  #tool;
  #remove;

  constructor(tool, remove) {
    this.#tool = tool;
    this.#remove = remove;
  }

  get name() {
    return this.#tool.name;
  }

  get publishedName() {
    return this.#tool.publishedName;
  }

  get registered() {
    return this.#tool.whenRegistered;
  }

  remove() {
    this.#remove?.();
    this.#remove = undefined;
    return this.#tool.whenRemoved;
  }

  [dispose]() {
    this.remove();
  }
}

/** A promise that can be settled from outside, and that nobody has to listen to. */
function settleable() {
  let settle;
  const promise = new Promise((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}

export function checkedTool(tool) {
  if (!isObject(tool)) throw new TypeError("addTool() needs an object: { name, description, inputSchema, handler }");
  const { name, handler, description } = tool;
  if (typeof name !== "string" || !name) {
    throw new TypeError('addTool(): name must be a non-empty string, such as "add_card"');
  }
  if (typeof handler !== "function") {
    throw new TypeError(`addTool(): tool "${name}" needs a handler: (input, { signal, callId, client }) => result`);
  }
  if (description !== undefined && typeof description !== "string") {
    throw new TypeError(`addTool(): the description of tool "${name}" must be a string`);
  }
  for (const field of ["inputSchema", "outputSchema"]) {
    const schema = tool[field];
    if (schema !== undefined && !isPlainObject(schema)) {
      throw new TypeError(
        `addTool(): ${field} of tool "${name}" must be a JSON Schema object such as ` +
          '{ type: "object", properties: {…} }; libraries have a conversion, for example z.toJSONSchema(schema)',
      );
    }
  }
  adviseName(name);
  return tool;
}

function adviseName(name) {
  if (!inBrowser || !/^(localhost|127\.|\[::1\])/.test(globalThis.location?.hostname)) return;
  if (name.length > ADVISED_NAME_CHARS) {
    console.warn(`mcp-web: tool name "${name}" has over ${ADVISED_NAME_CHARS} characters: some AI clients cut or refuse it`);
  } else if (!/^[\w-]+$/.test(name)) {
    console.warn(`mcp-web: tool name "${name}" has characters other than a-z A-Z 0-9 _ -: AI clients will see it changed`);
  }
}

export function toJson(tool) {
  try {
    return JSON.stringify(tool);
  } catch (cause) {
    throw new TypeError(`addTool(): the definition of tool "${tool.name}" is not JSON: ${cause.message}`, { cause });
  }
}

/** Registers the page's tools in the browser, for its agents. */

import type { Calls } from "../mcp-web/calls.ts";
import type { Registration } from "../mcp-web/registration.ts";
import { callTool } from "./call.ts";
import { browserHints } from "./hints.ts";
import { type ModelContext, type ModelContextTool, modelContext } from "./model-context.ts";

/**
 * Names that clients can call unchanged. The bridge changes other names, and reports them when it has accepted the tool.
 */
const PUBLISHABLE_NAME = /^[\w-]{1,64}$/;

const NAMES = Symbol.for("mcp-web.mirrored");

/** A tool that is registered in the browser, or was rejected. */
interface MirroredTool {
  /** The definition that it was created from, as JSON. */
  json: string;
  /** The fields that the browser shows, as JSON. */
  shown: string;
  /** The registration whose handler runs. An update that the browser does not show changes only this. */
  registration: Registration;
  controller: AbortController;
  isRefused: boolean;
}

/**
 * Returns the names that the SDK has registered in the browser, for all `McpWeb` objects and all copies of the SDK in the
 * document, and by name the object that has registered it.
 */
export function mirroredNames(): Map<string, object> {
  const global = globalThis as { [NAMES]?: Map<string, object> };
  return (global[NAMES] ??= new Map());
}

export class ToolMirror {
  readonly #calls: Calls["hostBindings"];
  /** By their names in the browser. */
  readonly #tools = new Map<string, MirroredTool>();

  constructor(calls: Calls["hostBindings"]) {
    this.#calls = calls;
  }

  /** Updates the browser's tools to those of the list. Changed ones are removed and registered again in one task. */
  update(registrations: Registration[]): void {
    const context = modelContext();
    const wanted = new Map<string, Registration>();
    for (const registration of registrations) {
      const { publishedName, id } = registration;
      const name = publishedName ?? (PUBLISHABLE_NAME.test(id) ? id : undefined);
      if (name !== undefined) wanted.set(name, registration);
    }
    for (const name of this.#tools.keys()) if (!context || !wanted.has(name)) this.#remove(name);
    if (!context) return;
    for (const [name, registration] of wanted) this.#share(context, name, registration);
  }

  #share(context: ModelContext, name: string, registration: Registration): void {
    const former = this.#tools.get(name);
    const { json } = registration;
    const definition = former?.json === json ? undefined : describe(name, json);
    const shown = definition ? JSON.stringify(definition) : former!.shown;
    if (former?.shown === shown) {
      Object.assign(former, { json, registration });
      return;
    }
    this.#remove(name);
    this.#register(context, definition!, { json, shown, registration, controller: new AbortController(), isRefused: false });
  }

  /** Removes all tools from the browser. */
  clear(): void {
    for (const name of this.#tools.keys()) this.#remove(name);
  }

  /** Drops the tools that the browser has rejected, for example because of a name in use, if the name is available now. */
  forgetRefused(listed: ReadonlySet<string>): boolean {
    const free = [...this.#tools].filter(([name, { isRefused }]) => isRefused && !listed.has(name));
    for (const [name] of free) this.#remove(name);
    return free.length > 0;
  }

  /** A rejection is not an error of the page: the browser may forbid its tools, or another tool has the name. */
  #register(context: ModelContext, definition: Omit<ModelContextTool, "execute">, tool: MirroredTool): void {
    const { name } = definition;
    const onRefused = () => {
      tool.isRefused = true;
      if (mirroredNames().get(name) === this) mirroredNames().delete(name);
    };
    const execute: ModelContextTool["execute"] = (input, options) => callTool(this.#calls, tool.registration, input, options?.signal);
    const { signal } = tool.controller;
    this.#tools.set(name, tool);
    if (!mirroredNames().has(name)) mirroredNames().set(name, this);
    try {
      Promise.resolve(context.registerTool({ ...definition, execute }, { signal })).catch(() => signal.aborted || onRefused());
    } catch {
      onRefused();
    }
  }

  #remove(name: string): void {
    const tool = this.#tools.get(name);
    if (!tool) return;
    this.#tools.delete(name);
    if (mirroredNames().get(name) === this) mirroredNames().delete(name);
    tool.controller.abort();
  }
}

/** Returns the fields of a tool that the browser shows. The browser requires a description, but MCP does not. */
function describe(name: string, json: string): Omit<ModelContextTool, "execute"> {
  const { title, description, inputSchema = { type: "object" }, annotations } = JSON.parse(json);
  const ownTitle: string | undefined = title ?? annotations?.title;
  return {
    name,
    ...(ownTitle && { title: ownTitle }),
    description: description || ownTitle || name,
    inputSchema,
    annotations: browserHints(annotations),
  };
}

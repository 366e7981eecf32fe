/** Offers the tools that are registered only in the browser to AI clients. */

import type { CallContext } from "../types/calls.ts";
import type { ToolDefinition } from "../types/definitions.ts";
import type { ToolHandle } from "../types/handles.ts";
import type { ImportedTool, WebMcpOptions } from "../types/webmcp.ts";
import { type UnknownObject, isPlainObject } from "../mcp-web/type-guards.ts";
import { FormCalls, NAVIGATING, type ToolForm, findForms, withPatterns } from "./forms.ts";
import { mcpAnnotations } from "./hints.ts";
import { type ModelContext, type RegisteredTool, modelContext } from "./model-context.ts";
import { parseAnswer } from "./results.ts";

/** The browser fires an event for each change, and two for a change of a form. They are combined within this time. */
const CHANGES_MS = 50;

/** How long tools are not listed after a navigation has begun. The document may stay, for example after a download. */
const NAVIGATION_MS = 5_000;

/** The timeout of a form that a person submits. */
const FORM_TIMEOUT_MS = 600_000;

/** An imported tool: the added item, and the browser's newest description, by which it is called. */
interface Import {
  json: string;
  tool: RegisteredTool;
  isForm: boolean;
  handle: ToolHandle;
  shown: ImportedTool;
}

/** The part of the page that the importer uses. */
export interface ImporterPort {
  page: { addTool(definition: ToolDefinition): ToolHandle };
  options(): WebMcpOptions;
  /** Returns the names of the tools that must not be imported: the page's own, and those that it has registered. */
  ownNames(): ReadonlySet<string>;
  /** Called when the browser has listed its tools. */
  onListed(names: ReadonlySet<string>): void;
}

export class ToolImporter {
  readonly #port: ImporterPort;
  /** By name. */
  readonly #imports = new Map<string, Import>();
  /** The handlers of imported tools. */
  readonly #handlers = new WeakSet<object>();
  readonly #formCalls = new FormCalls();
  /** The tools that have turned out to be forms, even if the document does not show them. */
  readonly #activated = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The number of the latest list: an earlier one that arrives later is ignored. */
  #list = 0;

  constructor(port: ImporterPort) {
    this.#port = port;
  }

  /** Returns whether the handler is that of an imported tool. */
  isImported(handler: object): boolean {
    return this.#handlers.has(handler);
  }

  /** Schedules an update, because the browser's tools may have changed. */
  schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#update();
    }, CHANGES_MS);
  }

  /** Handles that the browser has filled in the form with this name. */
  onActivated(name: string): void {
    if (this.#activated.has(name)) return;
    this.#activated.add(name);
    this.schedule();
  }

  /**
   * Handles the start of a navigation. Chromium 156 crashes if the document is replaced while its tools are being listed.
   */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.schedule();
    }, NAVIGATION_MS);
  }

  /** Handles that the document is left. */
  leave(): void {
    this.#formCalls.leave();
  }

  /** Removes all imported tools. */
  clear(): void {
    this.#list += 1;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#replace(new Map());
  }

  async #update(): Promise<void> {
    const list = (this.#list += 1);
    let listed: RegisteredTool[] | undefined;
    try {
      listed = await modelContext()?.getTools?.();
    } catch {
      // The browser does not allow the page to list tools.
    }
    if (!listed || list !== this.#list) return;
    this.#port.onListed(new Set(listed.filter(isHere).map(({ name }) => name)));
    this.#replace(this.#importable(listed));
  }

  /** Returns the tools to import, by name. A tool of this document takes precedence over one of a frame. */
  #importable(listed: RegisteredTool[]): Map<string, RegisteredTool> {
    const { frames = false } = this.#port.options();
    const own = this.#port.ownNames();
    const tools = new Map<string, RegisteredTool>();
    for (const tool of [...listed.filter(isHere), ...(frames ? listed : [])]) {
      if (!own.has(tool.name) && !tools.has(tool.name)) tools.set(tool.name, tool);
    }
    return tools;
  }

  /** Adds, changes and removes the tools that differ. */
  #replace(tools: Map<string, RegisteredTool>): void {
    const forms = tools.size ? findForms() : new Map<string, ToolForm>();
    let isChanged = false;
    for (const [name, { handle }] of this.#imports) {
      if (tools.has(name)) continue;
      this.#imports.delete(name);
      handle.remove();
      isChanged = true;
    }
    for (const [name, tool] of tools) isChanged = this.#import(tool, forms.get(name)) || isChanged;
    if (isChanged) this.#port.options().onImportsChange?.(this.#shownInOrder(tools));
  }

  /** Returns the imported tools, in the order of the browser's list. */
  #shownInOrder(tools: Map<string, RegisteredTool>): ImportedTool[] {
    return [...tools.keys()].flatMap((name) => this.#imports.get(name)?.shown ?? []);
  }

  /** Imports a tool, and returns whether it has changed. */
  #import(tool: RegisteredTool, form: ToolForm | undefined): boolean {
    const isForm = form !== undefined || this.#activated.has(tool.name);
    const fields = describe(tool, isForm, form?.isAutomatic === false);
    const json = JSON.stringify(fields);
    const former = this.#imports.get(tool.name);
    if (former?.json === json) {
      former.tool = tool;
      return false;
    }
    const { name, title, description, inputSchema, annotations } = fields;
    const shown: ImportedTool = Object.freeze({
      name,
      description,
      isForm,
      ...(title && { title }),
      ...(inputSchema && { inputSchema }),
      ...(annotations && { annotations }),
    });
    try {
      if (former) {
        Object.assign(former, { json, tool, isForm, shown });
        former.handle.update(fields);
      } else {
        const handler = (input: any, { signal }: CallContext) => this.#call(name, input, signal);
        this.#handlers.add(handler);
        this.#imports.set(name, { json, tool, isForm, shown, handle: this.#port.page.addTool({ ...fields, handler }) });
      }
    } catch (error) {
      console.warn(`mcp-web: the tool "${name}" of the browser is not offered: ${(error as Error).message}`);
      return false;
    }
    return true;
  }

  async #call(name: string, input: object, signal: AbortSignal): Promise<unknown> {
    const context = modelContext();
    const imported = this.#imports.get(name);
    if (!context || !imported) throw new Error(`the browser has no tool "${name}" any more`);
    const execute = (signal: AbortSignal) => executeTool(context, imported.tool, input, signal);
    const answer = await (imported.isForm ? this.#formCalls.run(name, signal, execute) : execute(signal)).catch((error) => {
      // The codes of the browser's exceptions are numbers with another meaning.
      throw new Error(String(error?.message ?? error), { cause: error });
    });
    return answer === null ? NAVIGATING : parseAnswer(answer);
  }
}

const isHere = ({ window }: RegisteredTool) => window === undefined || window === globalThis.window;

/** Returns the fields of an imported tool. Those that are `undefined` remove a former value. */
function describe(tool: RegisteredTool, isForm: boolean, waitsForPerson: boolean) {
  const { name, title, description, annotations } = tool;
  const schema = parseSchema(tool.inputSchema);
  return {
    name,
    // A polyfill returns the description here if there is no title.
    title: title && title !== description ? title : undefined,
    description: description || name,
    inputSchema: schema && isForm ? withPatterns(schema) : schema,
    annotations: mcpAnnotations(annotations),
    timeout: waitsForPerson ? FORM_TIMEOUT_MS : undefined,
    _meta: { "mcp-web/webmcp": { imported: true, ...(isForm && { form: true }), ...(annotations && { annotations }) } },
  } satisfies Partial<ToolDefinition>;
}

/** The browser accepts any JSON as a schema. A schema that is not an object describes nothing. */
function parseSchema(schema: object | string | undefined): UnknownObject | undefined {
  let value: unknown = schema;
  try {
    if (typeof schema === "string") value = JSON.parse(schema);
  } catch {
    // It is not JSON.
  }
  return isPlainObject(value) ? value : undefined;
}

/** Polyfills and browsers of earlier drafts require JSON text. If they report that, they have not run the tool. */
async function executeTool(
  context: ModelContext,
  tool: RegisteredTool,
  input: object,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return await context.executeTool(tool, input, { signal });
  } catch (error) {
    const { name, message } = error as Error;
    if (!/^(TypeError|UnknownError)$/.test(name) || !/parse input/i.test(message)) throw error;
    return context.executeTool(tool, JSON.stringify(input), { signal });
  }
}

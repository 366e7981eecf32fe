/**
 * Offers the state of an app as generated tools: a getter, setters, and tools for lists and records.
 *
 * ```ts
 * import { McpWeb } from "mcp-web-sdk";
 * import { addStateTools, id, system } from "mcp-web-sdk/state";
 * import * as z from "zod";
 *
 * const Todo = z.object({
 *   id: id(system(z.string().default(() => crypto.randomUUID()))),
 *   value: z.string().min(1),
 *   done: z.boolean().default(false),
 * });
 *
 * let todos: z.infer<typeof Todo>[] = [];
 * const [getTodos, setters, cleanup] = addStateTools(mcpWeb, {
 *   name: "todos",
 *   description: "The user's todo list",
 *   schema: z.array(Todo),
 *   get: () => todos,
 *   set: (value) => { todos = value; render(); },
 *   expand: true, // get_todos, add_todos, set_todos, delete_todos
 * });
 * ```
 *
 * @packageDocumentation
 */

import type { McpWeb } from "./mcp-web.ts";
import { isObject } from "./mcp-web/type-guards.ts";
import { StateAccess } from "./state/access.ts";
import type { MarkedSchema } from "./state/markers.ts";
import { type ToolPlan } from "./state/plan.ts";
import type { SplitEntry } from "./state/split.ts";
import { planState } from "./state/tools.ts";
import type { CallContext } from "./types/calls.ts";
import type { ToolDefinition } from "./types/definitions.ts";
import type { ResourceContent } from "./types/content.ts";
import type { ResourceHandle, ToolHandle } from "./types/handles.ts";
import type { InferInput, ToolSchema } from "./types/infer.ts";
import type { Unsubscribe } from "./types/options.ts";

export { type Group, type GroupMember, type GroupState, groupState } from "./state/group.ts";
export { type MarkedSchema, type StateMarks, id, state, system } from "./state/markers.ts";
export type { SplitEntry };

/** The type of a state, from its schema. */
export type StateOf<Schema> = Schema extends MarkedSchema<infer Inner> ? InferInput<Inner> : InferInput<Schema>;

/** A value that may only be read. */
export type DeepReadonly<Value> = 0 extends 1 & Value
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
      : Value;

/** An object that ends a subscription, as some stores return it. */
export interface Subscription {
  /** Ends the subscription. */
  unsubscribe(): void;
}

/** Options for offering a state. */
export interface StateToolsOptions<
  Schema = any,
  Expand extends boolean = boolean,
  Split extends readonly SplitEntry[] | undefined = readonly SplitEntry[] | undefined,
> {
  /** The name that the tools are derived from: `get_NAME`, `set_NAME` … */
  name: string;
  /** A description of the state, for the model. Each tool adds its own part. */
  description: string;
  /** The schema of the state: JSON Schema, or of a library, with marks by `state()`, or `id()` and `system()`. */
  schema: Schema;
  /** Returns the state. The returned value is never modified. */
  get(): DeepReadonly<StateOf<Schema>> | Promise<DeepReadonly<StateOf<Schema>>>;
  /** Replaces the state. If it throws or its promise is rejected, the client receives that error. */
  set(value: StateOf<Schema>): unknown;
  /**
   * Divides the state into tools by its structure: fields of objects can be set individually, and lists and records have
   * tools for their items.
   *
   * @defaultValue `false`: one getter, and one setter that replaces everything
   */
  expand?: Expand;
  /**
   * Divides the state into parts with separate tools: `field`, `parent.child`, `list[]` (one item), `map{}` (one entry),
   * `enum[20]` (20 values in each tool), and lists of paths whose fields are set together.
   */
  schemaSplit?: Split;
  /**
   * Calls a listener at each change of the state, as stores do. Returns the function that ends the subscription, or an
   * object with it. Clients that are subscribed to the resource are then also notified of changes outside of the tools.
   */
  subscribe?(listener: () => void): (() => void) | Subscription | void;
  /**
   * Whether the state is also offered as the resource `state://NAME`, to which clients can subscribe.
   *
   * @defaultValue `true`
   */
  resource?: boolean;
}

/** A tool of a state, to pass to `mcpWeb.addTool()`. */
export type StateTool = ToolDefinition<any, any, any>;

/** The tools of a state, before they are added. */
export interface CreatedStateTools<Schema = any, Divided extends boolean = boolean> {
  /** The first tool, which returns the state. */
  readonly getter: StateTool;
  /** The other tools: one if {@link CreatedStateTools.isExpanded} is false, and a list of them otherwise. */
  readonly setters: Setters<Divided, StateTool>;
  /** All tools, in order. */
  readonly tools: readonly StateTool[];
  /** The options that they were created from. */
  readonly config: StateToolsOptions<Schema>;
  /** Whether the state is divided, by `expand` or `schemaSplit`. */
  readonly isExpanded: boolean;
  /** Calls a listener after each change by a tool. */
  onChange(listener: () => void): Unsubscribe;
}

/** Whether options divide a state into several setters. */
export type IsDivided<Expand, Split> = Expand extends true ? true : Split extends readonly SplitEntry[] ? true : false;

/** All tools of a state except the first: one, or a list if the state is divided. */
export type Setters<Divided, Tool> = Divided extends true ? readonly Tool[] : Tool;

/** The result of {@link addStateTools}. */
export type AddedStateTools<Divided> = [
  getter: ToolHandle,
  setters: Setters<Divided, ToolHandle>,
  cleanup: () => void,
  notifyChanged: () => void,
];

/**
 * Creates the tools of a state without adding them.
 *
 * @throws TypeError if the schema has no JSON Schema, if a split refers to a missing part, if ids of items or names of
 * tools collide, if a field that the app fills in has no default, or if a parameter would be named `session_id`.
 */
export function createStateTools<
  const Schema extends ToolSchema | MarkedSchema<ToolSchema>,
  const Expand extends boolean = false,
  const Split extends readonly SplitEntry[] | undefined = undefined,
>(options: StateToolsOptions<Schema, Expand, Split>): CreatedStateTools<Schema, IsDivided<Expand, Split>> {
  return new StateTools(options as StateToolsOptions) as unknown as CreatedStateTools<Schema, IsDivided<Expand, Split>>;
}

/**
 * Adds the tools of a state to a page, and the state as a resource.
 *
 * Calls of one state run one at a time, `get` and `set` are awaited, and the whole state is validated against its schema
 * before `set` is called. A rejected call has no effect.
 *
 * @param options how the state is offered, or the result of {@link createStateTools}
 * @returns the handle of the getter, that of the setter (a list of all other tools if the state is divided), the function
 * that removes everything, and the one that notifies clients of a change
 * @throws TypeError like {@link createStateTools}.
 */
export function addStateTools<
  const Schema extends ToolSchema | MarkedSchema<ToolSchema>,
  const Expand extends boolean = false,
  const Split extends readonly SplitEntry[] | undefined = undefined,
>(mcpWeb: McpWeb, options: StateToolsOptions<Schema, Expand, Split>): AddedStateTools<IsDivided<Expand, Split>>;
export function addStateTools<Divided extends boolean>(
  mcpWeb: McpWeb,
  created: CreatedStateTools<any, Divided>,
): AddedStateTools<Divided>;
export function addStateTools(mcpWeb: McpWeb, options: unknown): unknown {
  const created = options instanceof StateTools ? options : new StateTools(options as StateToolsOptions);
  return created.addTo(mcpWeb);
}

/** The class behind {@link CreatedStateTools}. */
class StateTools {
  readonly tools: readonly StateTool[];
  readonly config: StateToolsOptions;
  readonly isExpanded: boolean;
  readonly #listeners = new Set<() => void>();

  constructor(config: StateToolsOptions) {
    checkOptions(config);
    const { name, description, schema, expand, schemaSplit } = config;
    const plan = planState({ name, description }, schema, { expand, schemaSplit });
    const access = new StateAccess(config, plan.schema, () => {
      for (const listener of [...this.#listeners]) runListener(listener);
    });
    this.config = config;
    this.isExpanded = plan.isDivided;
    this.tools = plan.tools.map((tool) => toolDefinition(tool, access));
  }

  get getter(): StateTool {
    return this.tools[0]!;
  }

  get setters(): StateTool | readonly StateTool[] {
    return this.isExpanded ? this.tools.slice(1) : this.tools[1]!;
  }

  onChange(listener: () => void): Unsubscribe {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  addTo(mcpWeb: McpWeb): [ToolHandle, ToolHandle | ToolHandle[], () => void, () => void] {
    const { name, description, resource = true, subscribe } = this.config;
    const uri = `state://${encodeURIComponent(name)}`;
    const handles: ToolHandle[] = [];
    let offered: ResourceHandle | undefined;
    const ended: (ReturnType<NonNullable<StateToolsOptions["subscribe"]>>)[] = [];
    const notifyChanged = coalesce(() => offered?.notifyUpdated());
    const cleanup = () => {
      for (const handle of [...handles, offered]) handle?.remove();
      for (const end of ended.splice(0)) typeof end === "function" ? end() : end?.unsubscribe();
    };
    try {
      for (const tool of this.tools) handles.push(mcpWeb.addTool(tool));
      const read = async () => ((await this.config.get()) ?? null) as ResourceContent;
      if (resource) offered = mcpWeb.addResource({ uri, name, description, mimeType: "application/json", read });
      ended.push(this.onChange(notifyChanged), subscribe?.call(this.config, notifyChanged));
    } catch (error) {
      // If one item cannot be added, none is.
      cleanup();
      throw error;
    }
    const [getter, ...setters] = handles;
    return [getter!, this.isExpanded ? setters : setters[0]!, cleanup, notifyChanged];
  }
}

function checkOptions(config: StateToolsOptions): void {
  if (!isObject(config)) throw new TypeError("addStateTools() needs an object: { name, description, schema, get, set }");
  const { name, description, get, set }: Partial<StateToolsOptions> = config;
  if (typeof name !== "string" || !name) throw new TypeError("addStateTools(): name must be a non-empty string");
  if (typeof description !== "string" || !description) throw new TypeError(`addStateTools(): state "${name}" needs a description`);
  for (const [key, value] of Object.entries({ get, set })) {
    if (typeof value !== "function") throw new TypeError(`addStateTools(): state "${name}" needs the function ${key}()`);
  }
}

/** Calls a listener. An exception in it is not an error of the call that has changed the state. */
function runListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    console.error(error);
  }
}

function toolDefinition({ name, description, inputSchema, outputSchema, annotations, run, isChecked = false }: ToolPlan, access: StateAccess): StateTool {
  return {
    name,
    description,
    ...(inputSchema && { inputSchema }),
    ...(outputSchema && { outputSchema }),
    annotations: { ...annotations, openWorldHint: false },
    handler: (args: object, context?: CallContext) =>
      "read" in run ? access.read((state) => run.read(state, args), isChecked, context?.signal) : access.change(run.edit, args, context?.signal),
  };
}

/** Returns a function that calls another one once for all calls of a task. */
function coalesce(run: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    queueMicrotask(() => {
      isWaiting = false;
      run();
    });
  };
}

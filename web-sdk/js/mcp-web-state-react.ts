/**
 * State tools for React state.
 *
 * ```tsx
 * const [todos, setTodos] = useState<Todo[]>([]);
 * useStateTools({ name: "todos", description: "The todo list", schema: Todos, value: todos, set: setTodos, expand: true });
 * ```
 *
 * @packageDocumentation
 */

"use client";

import { useEffect, useLayoutEffect, useState } from "react";
import { useMcpWeb } from "./mcp-web-react.ts";
import { type MarkedSchema, type SplitEntry, type StateOf, type StateToolsOptions, addStateTools } from "./mcp-web-state.ts";
import type { McpWeb } from "./mcp-web.ts";
import type { ToolSchema } from "./types/infer.ts";

/**
 * Options for offering a React state: {@link StateToolsOptions} with the value and its setter, instead of `get` and `set`.
 */
export interface UseStateToolsOptions<Schema> extends Omit<StateToolsOptions<Schema>, "get" | "set" | "subscribe"> {
  /** The state of this render. */
  value: StateOf<Schema>;
  /** Replaces the state, like the setter of `useState`. */
  set(value: StateOf<Schema>): unknown;
}

/**
 * Offers a React state as tools while the component is mounted. Clients that are subscribed to the state are notified of
 * changes by the component.
 *
 * The tools are created when the component is mounted, and when `name` or `description` changes. A later change of `schema`
 * or `expand` has no effect. If several mounted components have the same name, the latest one offers the tools.
 *
 * @throws Error if there is no `McpWebProvider` above the component.
 * @throws TypeError like `addStateTools`, during React's commit.
 */
export function useStateTools<const Schema extends ToolSchema | MarkedSchema<ToolSchema>>(options: UseStateToolsOptions<Schema>): void {
  const { mcpWeb } = useMcpWeb();
  const [binding] = useState(() => new StateBinding());
  const { name, description, value } = options;
  // Calls between this commit and the effects below must see its value.
  useLayoutEffect(() => binding.commit(options as UseStateToolsOptions<any>));
  useEffect(() => {
    binding.retain(mcpWeb);
    return () => binding.release();
  }, [binding, mcpWeb, name, description]);
  useEffect(() => binding.notifyChanged(), [binding, value]);
}

/** How long a value set by a tool counts as the state although React has not rendered it, in milliseconds. */
const PENDING_TIMEOUT_MS = 250;

/** The mounted bindings by page and name, the latest last. */
const mounted = new WeakMap<McpWeb, Map<string, StateBinding[]>>();

/** The tools of a component. */
class StateBinding {
  #options!: UseStateToolsOptions<any>;
  /**
   * A value that a tool has set and React has not rendered yet, so that the next call does not lose it. `replaced` is the
   * previous value.
   */
  #pending: { value: unknown; replaced: unknown } | undefined;
  #mcpWeb: McpWeb | undefined;
  /** The other bindings of the name, while this is one of them. */
  #rivals: StateBinding[] | undefined;
  #added: { description: string; cleanup: () => void; notifyChanged: () => void } | undefined;
  #name = "";
  #isReleased = false;

  commit(options: UseStateToolsOptions<any>): void {
    this.#options = options;
    // A render for another reason has the former value.
    if (this.#pending && !Object.is(options.value, this.#pending.replaced)) this.#pending = undefined;
  }

  retain(mcpWeb: McpWeb): void {
    this.#isReleased = false;
    const { name, description } = this.#options;
    if (this.#mcpWeb === mcpWeb && this.#name === name && this.#added?.description === description) return;
    this.#leave();
    this.#mcpWeb = mcpWeb;
    this.#name = name;
    let bindings = mounted.get(mcpWeb);
    if (!bindings) mounted.set(mcpWeb, (bindings = new Map()));
    const rivals = bindings.get(name) ?? [];
    bindings.set(name, rivals);
    for (const rival of rivals) rival.#remove();
    rivals.push(this);
    this.#rivals = rivals;
    this.#add();
  }

  /** Removes the tools, unless the component is mounted again in the same task, as `StrictMode` does. */
  release(): void {
    this.#isReleased = true;
    queueMicrotask(() => this.#isReleased && this.#leave());
  }

  notifyChanged(): void {
    this.#added?.notifyChanged();
  }

  #add(): void {
    const { value: _value, set: _set, ...options } = this.#options;
    const [, , cleanup, notifyChanged] = addStateTools(this.#mcpWeb!, {
      ...(options as Omit<StateToolsOptions, "get" | "set"> & { schemaSplit?: readonly SplitEntry[] }),
      get: () => (this.#pending ?? this.#options).value,
      set: (value: unknown) => this.#set(value),
    });
    this.#added = { description: options.description, cleanup, notifyChanged };
  }

  async #set(value: unknown): Promise<void> {
    const before = this.#pending;
    const pending = { value, replaced: this.#options.value };
    this.#pending = pending;
    try {
      await this.#options.set(value);
    } catch (error) {
      if (this.#pending === pending) this.#pending = before;
      throw error;
    }
    // A setter may reject the value, and then nothing is rendered.
    setTimeout(() => {
      if (this.#pending === pending) this.#pending = undefined;
    }, PENDING_TIMEOUT_MS);
  }

  /** Stops offering the state. The previous binding replaces it, if there is one. */
  #leave(): void {
    const rivals = this.#rivals;
    if (!rivals) return;
    const isLatest = rivals.at(-1) === this;
    rivals.splice(rivals.indexOf(this), 1);
    this.#rivals = undefined;
    this.#remove();
    const next = rivals.at(-1);
    if (isLatest && next) next.#add();
  }

  #remove(): void {
    this.#added?.cleanup();
    this.#added = undefined;
  }
}

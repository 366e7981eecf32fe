/**
 * State tools for state of React.
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

/** How a state of React is offered: {@link StateToolsOptions} with the value and its setter, instead of `get` and `set`. */
export interface UseStateToolsOptions<Schema> extends Omit<StateToolsOptions<Schema>, "get" | "set" | "subscribe"> {
  /** The state, as of this render. */
  value: StateOf<Schema>;
  /** Replaces it, as the setter of `useState` does. */
  set(value: StateOf<Schema>): unknown;
}

/**
 * Offers a state of React as tools as long as the component is mounted. Changes that the component makes are told to
 * clients that are subscribed to the state.
 *
 * The tools are made when the component is mounted, and when `name` or `description` changes: another `schema` or `expand`
 * later has no effect. Of several mounted components with one name, the latest one offers the tools.
 *
 * @throws Error when no `McpWebProvider` is above the component.
 * @throws TypeError as `addStateTools`, while React commits.
 */
export function useStateTools<const Schema extends ToolSchema | MarkedSchema<ToolSchema>>(options: UseStateToolsOptions<Schema>): void {
  const { mcpWeb } = useMcpWeb();
  const [binding] = useState(() => new StateBinding());
  const { name, description, value } = options;
  // Calls that come between this commit and the effects below must see its value.
  useLayoutEffect(() => binding.commit(options as UseStateToolsOptions<any>));
  useEffect(() => {
    binding.retain(mcpWeb);
    return () => binding.release();
  }, [binding, mcpWeb, name, description]);
  useEffect(() => binding.notifyChanged(), [binding, value]);
}

/** How long a value that a tool has set is the state although React has not rendered it, in milliseconds. */
const PENDING_TIMEOUT_MS = 250;

/** The mounted bindings by page and name, the latest last. */
const mounted = new WeakMap<McpWeb, Map<string, StateBinding[]>>();

/** The tools of a component. */
class StateBinding {
  #options!: UseStateToolsOptions<any>;
  /** What a tool has set and React has not rendered yet: the next call must not lose it. `replaced` was there before. */
  #pending: { value: unknown; replaced: unknown } | undefined;
  #mcpWeb: McpWeb | undefined;
  /** The other bindings of the name, as long as this is one of them. */
  #rivals: StateBinding[] | undefined;
  #added: { description: string; cleanup: () => void; notifyChanged: () => void } | undefined;
  #name = "";
  #isReleased = false;

  commit(options: UseStateToolsOptions<any>): void {
    this.#options = options;
    // A render for another reason comes with the former value.
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
    // A setter may decide otherwise: then nothing is rendered.
    setTimeout(() => {
      if (this.#pending === pending) this.#pending = undefined;
    }, PENDING_TIMEOUT_MS);
  }

  /** Stops to offer the state. The binding before it takes its place, if there is one. */
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

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
 * The tools are made when the component is mounted, and when `name` changes: another `schema` or `expand` later has no effect.
 *
 * @throws Error when no `McpWebProvider` is above the component.
 * @throws TypeError as `addStateTools`, while React commits.
 */
export function useStateTools<const Schema extends ToolSchema | MarkedSchema<ToolSchema>>(options: UseStateToolsOptions<Schema>): void {
  const { mcpWeb } = useMcpWeb();
  const [binding] = useState(() => new StateBinding());
  const { name, value } = options;
  // Calls that come between this commit and the effects below must see its value.
  useLayoutEffect(() => binding.commit(options as UseStateToolsOptions<any>));
  useEffect(() => {
    binding.retain(mcpWeb);
    return () => binding.release();
  }, [binding, mcpWeb, name]);
  useEffect(() => binding.notifyChanged(), [binding, value]);
}

/** The tools of a component. */
class StateBinding {
  #options!: UseStateToolsOptions<any>;
  /** What a tool has set and React has not rendered yet: the next call must not lose it. */
  #pending: { value: unknown } | undefined;
  #added: { mcpWeb: McpWeb; name: string; cleanup: () => void; notifyChanged: () => void } | undefined;
  #isReleased = false;

  commit(options: UseStateToolsOptions<any>): void {
    this.#options = options;
    this.#pending = undefined;
  }

  retain(mcpWeb: McpWeb): void {
    this.#isReleased = false;
    const { name } = this.#options;
    if (this.#added?.mcpWeb === mcpWeb && this.#added.name === name) return;
    this.#remove();
    const { value: _value, set: _set, ...options } = this.#options;
    const [, , cleanup, notifyChanged] = addStateTools(mcpWeb, {
      ...(options as Omit<StateToolsOptions, "get" | "set"> & { schemaSplit?: readonly SplitEntry[] }),
      get: () => (this.#pending ?? this.#options).value,
      set: (value: unknown) => {
        this.#pending = { value };
        return this.#options.set(value);
      },
    });
    this.#added = { mcpWeb, name, cleanup, notifyChanged };
  }

  /** Removes the tools, unless the component is mounted again in the same task, as `StrictMode` does. */
  release(): void {
    this.#isReleased = true;
    queueMicrotask(() => this.#isReleased && this.#remove());
  }

  notifyChanged(): void {
    this.#added?.notifyChanged();
  }

  #remove(): void {
    this.#added?.cleanup();
    this.#added = undefined;
  }
}

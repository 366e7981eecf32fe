/**
 * Hooks for React 18 and later.
 *
 * ```tsx
 * const mcpWeb = new McpWeb({ name: "My board" }); // outside of components
 *
 * createRoot(root).render(<McpWebProvider mcpWeb={mcpWeb}><Board /></McpWebProvider>);
 *
 * function Board() {
 *   const [cards, setCards] = useState<string[]>([]);
 *   useTool({
 *     name: "add_card",
 *     description: "Adds a card to the board",
 *     inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
 *     handler: ({ title }) => setCards((cards) => [...cards, title]),
 *   });
 *   return <ul>{cards.map((card) => <li key={card}>{card}</li>)}</ul>;
 * }
 * ```
 *
 * @packageDocumentation
 */

"use client";

import { createContext, createElement, useContext, useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";
import type { FunctionComponentElement, ProviderProps, ReactNode } from "react";
import { Binding, type Offered, type OfferedResource, type Optional } from "./frameworks/binding.ts";
import { type PageSnapshot, SERVER_SNAPSHOT, pageStore } from "./frameworks/page-store.ts";
import { NO_QUERY, type QueryActions, type QuerySnapshot, QueryStore } from "./frameworks/query-store.ts";
import type { McpWeb } from "./mcp-web.ts";
import type { PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition } from "./types/definitions.ts";
import type { ToolSchema } from "./types/infer.ts";

export type { Offered, OfferedResource, Optional, PageSnapshot, QueryActions, QuerySnapshot };

const McpWebContext = createContext<McpWeb | undefined>(undefined);

/**
 * Provides a `McpWeb` to all components below. Create it outside of components: `new McpWeb({ name })`.
 *
 * @param props the provided `McpWeb` and the components below
 * @param props.mcpWeb the page's `McpWeb`
 * @param props.children the components
 */
export function McpWebProvider({
  mcpWeb,
  children,
}: {
  mcpWeb: McpWeb;
  children?: ReactNode;
}): FunctionComponentElement<ProviderProps<McpWeb | undefined>> {
  return createElement(McpWebContext.Provider, { value: mcpWeb }, children);
}

/** The result of {@link useMcpWeb}. */
export interface PageState extends PageSnapshot {
  /** The page's `McpWeb`. */
  readonly mcpWeb: McpWeb;
}

/**
 * Returns the page's `McpWeb` with its status and clients, and renders the component again when they change. During server
 * rendering and until hydration, the status is `idle`.
 *
 * @throws Error if there is no {@link McpWebProvider} above the component.
 */
export function useMcpWeb(): PageState {
  const mcpWeb = usePage("useMcpWeb");
  const store = pageStore(mcpWeb);
  const snapshot = useSyncExternalStore(store.subscribe, store.snapshot, () => SERVER_SNAPSHOT);
  return { mcpWeb, ...snapshot };
}

/**
 * Offers a tool while the component is mounted, with the definition and the handler of the latest render. Only changes that
 * the bridge needs are sent. `false`, `null` or `undefined` offer nothing.
 *
 * @throws TypeError if the definition is not a valid tool, like {@link McpWeb.addTool}.
 */
export function useTool<
  const InputSchema extends ToolSchema | undefined = undefined,
  const OutputSchema extends ToolSchema | undefined = undefined,
  Value = unknown,
>(definition: Optional<ToolDefinition<InputSchema, OutputSchema, Value>>): Offered {
  return useBinding("useTool", "addTool", definition);
}

/** Offers a resource while the component is mounted, as {@link useTool} does with tools. */
export function useResource(definition: Optional<ResourceDefinition>): OfferedResource {
  return useBinding("useResource", "addResource", definition);
}

/** Offers all resources whose URIs match a template while the component is mounted. */
export function useResourceTemplate<const Template extends string>(
  definition: Optional<ResourceTemplateDefinition<Template>>,
): Offered {
  return useBinding("useResourceTemplate", "addResourceTemplate", definition);
}

/** Offers a prompt while the component is mounted. */
export function usePrompt<const Argument extends string>(definition: Optional<PromptDefinition<Argument>>): Offered {
  return useBinding("usePrompt", "addPrompt", definition);
}

/**
 * Sends queries to the bridge's agent, one at a time, and renders the component again as the answer arrives. The query is
 * cancelled when the component is unmounted.
 *
 * ```tsx
 * const { ask, cancel, state, text, error } = useQuery();
 * <button onClick={() => ask({ prompt: "Summarise the board" })} disabled={state === "running"}>Summarise</button>
 * <p>{error?.message ?? text}</p>
 * ```
 */
export function useQuery<Arguments extends object = any>(): QuerySnapshot<Arguments> & QueryActions<Arguments> {
  const mcpWeb = usePage("useQuery");
  const [store] = useState(() => new QueryStore(mcpWeb));
  useEffect(() => {
    store.mcpWeb = mcpWeb;
  }, [store, mcpWeb]);
  useEffect(() => {
    store.retain();
    return () => store.release();
  }, [store]);
  const snapshot = useSyncExternalStore(store.subscribe, store.snapshot, () => NO_QUERY);
  const { ask, cancel } = store;
  return { ...snapshot, ask, cancel };
}

/**
 * Runs before the browser paints, so that no call reaches the handler of a former render. React 18 warns about it on
 * servers.
 */
const useCommit = typeof document === "object" ? useLayoutEffect : useEffect;

function useBinding(hook: string, method: ConstructorParameters<typeof Binding>[0], definition: Optional<object>): Binding {
  const mcpWeb = usePage(hook);
  const [binding] = useState(() => new Binding(method));
  useCommit(() => () => binding.release(), [binding]);
  // Runs after every render, because React does not know what a handler uses.
  useCommit(() => binding.commit(mcpWeb, definition && afterRender(definition)));
  return binding;
}

/** Returns a tool whose result waits until React has rendered the changes of the handler. */
function afterRender(definition: { handler?: unknown }): object {
  const { handler } = definition;
  if (typeof handler !== "function") return definition;
  const handle = async (...args: unknown[]) => {
    try {
      return await handler(...args);
    } finally {
      // React renders in a task that was queued before this one. If it yields to the browser first, it queues another.
      await nextTask();
      await nextTask();
    }
  };
  return { ...definition, handler: handle };
}

/** Waits for the tasks that React has queued, with the same mechanism. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { setImmediate } = globalThis as { setImmediate?: (task: () => void) => void };
    if (typeof setImmediate === "function") return setImmediate(resolve);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

function usePage(hook: string): McpWeb {
  const mcpWeb = useContext(McpWebContext);
  if (!mcpWeb) throw new Error(`${hook}() needs a <McpWebProvider mcpWeb={…}> above this component`);
  return mcpWeb;
}

/**
 * Functions for components of Svelte 5.
 *
 * ```svelte
 * <!-- App.svelte -->
 * <script lang="ts">
 *   import { McpWeb } from "mcp-web-sdk";
 *   import { setMcpWeb } from "mcp-web-sdk/svelte";
 *   setMcpWeb(new McpWeb({ name: "My board" }));
 * </script>
 *
 * <!-- Board.svelte -->
 * <script lang="ts">
 *   import { useTool } from "mcp-web-sdk/svelte";
 *   let cards = $state<string[]>([]);
 *   useTool({
 *     name: "add_card",
 *     description: "Adds a card to the board",
 *     inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
 *     handler: ({ title }) => void cards.push(title),
 *   });
 * </script>
 * ```
 *
 * @packageDocumentation
 */

import { getContext, onDestroy, setContext } from "svelte";
import { createSubscriber } from "svelte/reactivity";
import { toStore } from "svelte/store";
import { Binding, type Offered, type OfferedResource, type Optional } from "./frameworks/binding.ts";
import { type PageSnapshot, type Store, pageStore } from "./frameworks/page-store.ts";
import { type QueryActions, type QuerySnapshot, QueryStore } from "./frameworks/query-store.ts";
import type { McpWeb } from "./mcp-web.ts";
import type { PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition } from "./types/definitions.ts";
import type { ToolSchema } from "./types/infer.ts";

export type { Offered, OfferedResource, Optional, PageSnapshot, QueryActions, QuerySnapshot };

const KEY = Symbol("mcpWeb");

/** A value, or a function that returns it and is called again when its dependencies change. */
export type MaybeGetter<Value> = Value | (() => Value);

/** Provides a `McpWeb` to this component and all below, and returns it. */
export function setMcpWeb(mcpWeb: McpWeb): McpWeb {
  return setContext(KEY, mcpWeb);
}

/** The result of {@link useMcpWeb}. Its fields are reactive: read them where they are shown. */
export interface PageState extends PageSnapshot {
  /** The page's `McpWeb`. */
  readonly mcpWeb: McpWeb;
}

/**
 * Returns the page's `McpWeb`, with its status and clients.
 *
 * @throws Error if no component above has called {@link setMcpWeb}.
 */
export function useMcpWeb(): PageState {
  const mcpWeb = contextPage("useMcpWeb");
  const read = reactive(pageStore(mcpWeb));
  return {
    mcpWeb,
    get status() {
      return read().status;
    },
    get clients() {
      return read().clients;
    },
  };
}

/**
 * Offers a tool while the component is mounted. Changes of a function that returns a definition are followed, and only
 * changes that the bridge needs are sent. `false`, `null` or `undefined` offer nothing.
 *
 * @throws TypeError if the definition is not a valid tool, like {@link McpWeb.addTool}.
 */
export function useTool<
  const InputSchema extends ToolSchema | undefined = undefined,
  const OutputSchema extends ToolSchema | undefined = undefined,
  Value = unknown,
>(definition: MaybeGetter<Optional<ToolDefinition<InputSchema, OutputSchema, Value>>>): Offered {
  return bind("useTool", "addTool", definition);
}

/** Offers a resource while the component is mounted, as {@link useTool} does with tools. */
export function useResource(definition: MaybeGetter<Optional<ResourceDefinition>>): OfferedResource {
  return bind("useResource", "addResource", definition);
}

/** Offers all resources whose URIs match a template while the component is mounted. */
export function useResourceTemplate<const Template extends string>(
  definition: MaybeGetter<Optional<ResourceTemplateDefinition<Template>>>,
): Offered {
  return bind("useResourceTemplate", "addResourceTemplate", definition);
}

/** Offers a prompt while the component is mounted. */
export function usePrompt<const Argument extends string>(definition: MaybeGetter<Optional<PromptDefinition<Argument>>>): Offered {
  return bind("usePrompt", "addPrompt", definition);
}

/**
 * Sends queries to the bridge's agent, one at a time. The query is cancelled when the component is unmounted. The fields of
 * the result are reactive.
 *
 * ```svelte
 * <button onclick={() => query.ask({ prompt: "Summarise the board" })}>Summarise</button>
 * <p>{query.error?.message ?? query.text}</p>
 * ```
 */
export function useQuery<Arguments extends object = any>(): QuerySnapshot<Arguments> & QueryActions<Arguments> {
  const store = new QueryStore(contextPage("useQuery"));
  onDestroy(() => store.release());
  const read = reactive(store);
  const { ask, cancel } = store;
  return {
    ask,
    cancel,
    get state() {
      return read().state;
    },
    get text() {
      return read().text;
    },
    get events() {
      return read().events;
    },
    get result() {
      return read().result;
    },
    get error() {
      return read().error;
    },
  };
}

/** Returns a function that returns the latest snapshot and makes its caller depend on it. */
function reactive<Snapshot>(store: Store<Snapshot>): () => Snapshot {
  const depend = createSubscriber((changed) => store.subscribe(changed));
  return () => {
    depend();
    return store.snapshot();
  };
}

function bind(caller: string, method: ConstructorParameters<typeof Binding>[0], definition: MaybeGetter<Optional<object>>): Binding {
  const mcpWeb = contextPage(caller);
  const binding = new Binding(method);
  // Nothing is offered on a server.
  if (typeof document !== "object") return binding;
  const commit = (definition: Optional<object>) => binding.commit(mcpWeb, definition);
  if (typeof definition === "function") onDestroy(toStore(definition as () => Optional<object>).subscribe(commit));
  else commit(definition);
  onDestroy(() => binding.release());
  return binding;
}

function contextPage(caller: string): McpWeb {
  const mcpWeb = getContext<McpWeb | undefined>(KEY);
  if (!mcpWeb) throw new Error(`${caller}() needs a component above this one that has called setMcpWeb(new McpWeb({ name }))`);
  return mcpWeb;
}

/**
 * Composables for Vue 3.
 *
 * ```ts
 * createApp(App).use(mcpWebPlugin, new McpWeb({ name: "My board" })).mount("#app");
 * ```
 *
 * ```vue
 * <script setup lang="ts">
 * const cards = ref<string[]>([]);
 * useTool({
 *   name: "add_card",
 *   description: "Adds a card to the board",
 *   inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
 *   handler: ({ title }) => void cards.value.push(title),
 * });
 * </script>
 * ```
 *
 * @packageDocumentation
 */

import { computed, inject, onScopeDispose, shallowRef, toValue, watchEffect } from "vue";
import type { ComputedRef, InjectionKey, MaybeRefOrGetter, Plugin, ShallowRef } from "vue";
import { Binding, type Offered, type OfferedResource, type Optional } from "./frameworks/binding.ts";
import { type PageSnapshot, type Store, pageStore } from "./frameworks/page-store.ts";
import { type QueryActions, type QuerySnapshot, QueryStore } from "./frameworks/query-store.ts";
import type { McpWeb } from "./mcp-web.ts";
import type { PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition } from "./types/definitions.ts";
import type { ToolSchema } from "./types/infer.ts";

export type { Offered, OfferedResource, Optional, PageSnapshot, QueryActions, QuerySnapshot };

const mcpWebKey: InjectionKey<McpWeb> = Symbol("mcpWeb");

/** Provides a `McpWeb` to all components: `app.use(mcpWebPlugin, new McpWeb({ name }))`. */
export const mcpWebPlugin: Plugin<[McpWeb]> = {
  install(app, mcpWeb) {
    if (!mcpWeb) throw new TypeError("app.use(mcpWebPlugin, mcpWeb) needs the McpWeb of the page");
    app.provide(mcpWebKey, mcpWeb);
  },
};

/** The result of {@link useMcpWeb}: refs of each field of {@link PageSnapshot}. */
export interface PageState {
  /** The page's `McpWeb`. */
  readonly mcpWeb: McpWeb;
  /** Like {@link McpWeb.status}. */
  readonly status: ComputedRef<PageSnapshot["status"]>;
  /** Like {@link McpWeb.clients}. */
  readonly clients: ComputedRef<PageSnapshot["clients"]>;
}

/**
 * Returns the page's `McpWeb`, and its status and clients as refs.
 *
 * @throws Error if the app does not use {@link mcpWebPlugin}.
 */
export function useMcpWeb(): PageState {
  const mcpWeb = injectPage("useMcpWeb");
  const snapshot = subscribed(pageStore(mcpWeb));
  return { mcpWeb, status: computed(() => snapshot.value.status), clients: computed(() => snapshot.value.clients) };
}

/**
 * Offers a tool while the component is mounted. Changes of a getter or a ref are followed, and only changes that the bridge
 * needs are sent. `false`, `null` or `undefined` offer nothing.
 *
 * @throws TypeError if the definition is not a valid tool, like {@link McpWeb.addTool}.
 */
export function useTool<
  const InputSchema extends ToolSchema | undefined = undefined,
  const OutputSchema extends ToolSchema | undefined = undefined,
  Value = unknown,
>(definition: MaybeRefOrGetter<Optional<ToolDefinition<InputSchema, OutputSchema, Value>>>): Offered {
  return bind("useTool", "addTool", definition);
}

/** Offers a resource while the component is mounted, as {@link useTool} does with tools. */
export function useResource(definition: MaybeRefOrGetter<Optional<ResourceDefinition>>): OfferedResource {
  return bind("useResource", "addResource", definition);
}

/** Offers all resources whose URIs match a template while the component is mounted. */
export function useResourceTemplate<const Template extends string>(
  definition: MaybeRefOrGetter<Optional<ResourceTemplateDefinition<Template>>>,
): Offered {
  return bind("useResourceTemplate", "addResourceTemplate", definition);
}

/** Offers a prompt while the component is mounted. */
export function usePrompt<const Argument extends string>(
  definition: MaybeRefOrGetter<Optional<PromptDefinition<Argument>>>,
): Offered {
  return bind("usePrompt", "addPrompt", definition);
}

/**
 * Sends queries to the bridge's agent, one at a time. The query is cancelled when the component is unmounted.
 *
 * ```ts
 * const { ask, query } = useQuery(); // query.value: { state, text, events, result, error }
 * ```
 */
export function useQuery<Arguments extends object = any>(): QueryActions<Arguments> & {
  readonly query: Readonly<ShallowRef<QuerySnapshot<Arguments>>>;
} {
  const store = new QueryStore(injectPage("useQuery"));
  onScopeDispose(() => store.release());
  const { ask, cancel } = store;
  return { ask, cancel, query: subscribed(store) };
}

/** Returns the latest snapshot as a ref. On a server, it never changes. */
function subscribed<Snapshot>(store: Store<Snapshot>): Readonly<ShallowRef<Snapshot>> {
  const snapshot = shallowRef(store.snapshot());
  if (typeof document === "object") onScopeDispose(store.subscribe(() => (snapshot.value = store.snapshot())));
  return snapshot;
}

function bind(composable: string, method: ConstructorParameters<typeof Binding>[0], definition: MaybeRefOrGetter<Optional<object>>): Binding {
  const mcpWeb = injectPage(composable);
  const binding = new Binding(method);
  // Nothing is offered on a server.
  if (typeof document === "object") {
    watchEffect(() => binding.commit(mcpWeb, toValue(definition)));
    onScopeDispose(() => binding.release());
  }
  return binding;
}

function injectPage(composable: string): McpWeb {
  const mcpWeb = inject(mcpWebKey, undefined);
  if (!mcpWeb) throw new Error(`${composable}() needs app.use(mcpWebPlugin, new McpWeb({ name })), and to be called in setup()`);
  return mcpWeb;
}

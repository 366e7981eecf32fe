/** The operators, actions, connections and types of blocks of an app, from the packages that its build names. */

import knownMetas from "./block-metas.json" with { type: "json" };
import { AppError } from "./app-error.ts";
import { readBlockMetas } from "./read-block-metas.ts";
import type { BlockMeta } from "./engine-types.ts";
import type { PackageFinder } from "./packages.ts";

/** The build's description of a type: `types.json` contains these by name. */
interface TypeDefinition {
  package: string;
  originalTypeName: string;
}

/** The file `types.json` of a build. */
export interface Types {
  actions: Record<string, TypeDefinition>;
  blocks: Record<string, TypeDefinition>;
  connections: Record<string, TypeDefinition>;
  operators: { client: Record<string, TypeDefinition>; server: Record<string, TypeDefinition> };
}

/** Plugins for requests, which run in the host. */
export interface ServerPlugins {
  connections: Record<string, unknown>;
  operators: Record<string, Operator>;
}

/** Plugins for pages, which run in the processes of users. */
export interface PagePlugins {
  actions: Record<string, (context: ActionContext) => unknown>;
  operators: Record<string, Operator>;
  blocks: Record<string, { meta: BlockMeta }>;
}

/** The modules of {@link PagePlugins}. */
export interface PagePluginModules {
  actions: Record<string, PluginExport>;
  operators: Record<string, PluginExport>;
  blocks: Record<string, { meta: BlockMeta }>;
}

/** An export of a module. */
export interface PluginExport {
  /** The name for messages, such as `@lowdefy/actions-core/actions`. */
  specifier: string;
  url: string;
  name: string;
}

/** The names of types in their packages; an app may rename them. */
export const originalNames = (types: Record<string, TypeDefinition>): Record<string, { name: string }> =>
  Object.fromEntries(Object.entries(types).map(([type, { originalTypeName: name }]) => [type, { name }]));

/** An operator. The engine passes more arguments than this host uses. */
export type Operator = (call: { params: unknown; methodName?: string }) => unknown;

/** The arguments that the engine passes to an action. */
export interface ActionContext {
  globals: Record<string, unknown>;
  methods: Record<string, unknown>;
  params: unknown;
}

/** Loads the plugins for requests. @throws AppError if a package, or a type in it, is missing. */
export async function loadServerPlugins(types: Types, packages: PackageFinder): Promise<ServerPlugins> {
  const [connections, operators] = await Promise.all([
    loadExports(findExports(types.connections, "connections", packages)),
    loadExports(findExports(types.operators.server, "operators/server", packages)),
  ]);
  return { connections, operators: operators as ServerPlugins["operators"] };
}

/** Finds the plugins for pages. @throws AppError if a package is missing. */
export function findPagePlugins(types: Types, packages: PackageFinder): PagePluginModules {
  const blocks = Object.entries(types.blocks).map(([name, type]) => [name, { meta: blockMeta(name, type, packages) }]);
  return {
    actions: findExports(types.actions, "actions", packages),
    operators: findExports(types.operators.client, "operators/client", packages),
    blocks: Object.fromEntries(blocks),
  };
}

/** Loads the plugins for pages. @throws AppError if a type is not in its package. */
export async function loadPagePlugins({ actions, operators, blocks }: PagePluginModules): Promise<PagePlugins> {
  const [loadedActions, loadedOperators] = await Promise.all([loadExports(actions), loadExports(operators)]);
  return { actions: loadedActions as PagePlugins["actions"], operators: loadedOperators as PagePlugins["operators"], blocks };
}

function findExports(types: Record<string, TypeDefinition>, entry: string, packages: PackageFinder): Record<string, PluginExport> {
  const found = Object.entries(types).map(([name, { package: packageName, originalTypeName }]) => {
    const specifier = `${packageName}/${entry}`;
    return [name, { specifier, url: packages.resolve(specifier), name: originalTypeName }];
  });
  return Object.fromEntries(found);
}

async function loadExports(exports: Record<string, PluginExport>): Promise<Record<string, unknown>> {
  const loaded = Object.entries(exports).map(async ([type, { specifier, url, name }]) => {
    const found = ((await import(url)) as Record<string, unknown>)[name];
    if (found === undefined) throw new AppError(`${specifier} has no ${name}: is its version 4.0.0-rc.11?`);
    return [type, found] as const;
  });
  return Object.fromEntries(await Promise.all(loaded));
}

const metas = new Map<string, Record<string, BlockMeta>>();

function blockMeta(name: string, { package: packageName, originalTypeName }: TypeDefinition, packages: PackageFinder): BlockMeta {
  const known = (knownMetas as Record<string, Record<string, BlockMeta>>)[packageName]?.[originalTypeName];
  if (known) return known;
  const folder = packages.folder(packageName);
  if (!metas.has(folder)) metas.set(folder, readBlockMetas(folder));
  const meta = metas.get(folder)?.[originalTypeName];
  if (!meta) throw new AppError(`the category of block type ${name} cannot be read in ${folder}: its file must say "${originalTypeName}.meta = { category: … }"`);
  return meta;
}

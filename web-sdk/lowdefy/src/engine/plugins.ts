/** The operators, actions, connections and types of blocks that an app uses, from the packages that its build names. */

import knownMetas from "./block-metas.json" with { type: "json" };
import { AppError } from "./app-error.ts";
import { readBlockMetas } from "./block-metas.ts";
import type { BlockMeta } from "./engine-types.ts";
import type { PackageFinder } from "./packages.ts";

/** What the build says of a type: `types.json` has these by name. */
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

/** What an app needs of its packages. */
export interface Plugins {
  actions: Record<string, (context: ActionContext) => unknown>;
  connections: Record<string, unknown>;
  operators: { client: Record<string, unknown>; server: Record<string, unknown> };
  blocks: Record<string, { meta: BlockMeta }>;
}

/** What the engine passes to an action. */
export interface ActionContext {
  globals: Record<string, unknown>;
  methods: Record<string, unknown>;
  params: unknown;
}

/** Loads what an app needs. @throws AppError when a package, or a type in it, is not there. */
export async function loadPlugins(types: Types, packages: PackageFinder): Promise<Plugins> {
  const [actions, connections, client, server] = await Promise.all([
    loadAll(types.actions, "actions", packages),
    loadAll(types.connections, "connections", packages),
    loadAll(types.operators.client, "operators/client", packages),
    loadAll(types.operators.server, "operators/server", packages),
  ]);
  const blocks = Object.entries(types.blocks).map(([name, type]) => [name, { meta: blockMeta(name, type, packages) }]);
  return {
    actions: actions as Plugins["actions"],
    connections,
    operators: { client, server },
    blocks: Object.fromEntries(blocks),
  };
}

async function loadAll(types: Record<string, TypeDefinition>, entry: string, packages: PackageFinder): Promise<Record<string, unknown>> {
  const loaded = Object.entries(types).map(async ([name, { package: packageName, originalTypeName }]) => {
    const module = (await packages.load(`${packageName}/${entry}`)) as Record<string, unknown>;
    const found = module[originalTypeName];
    if (found === undefined) throw new AppError(`${packageName}/${entry} has no ${originalTypeName}: is its version 4.0.0-rc.11?`);
    return [name, found] as const;
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

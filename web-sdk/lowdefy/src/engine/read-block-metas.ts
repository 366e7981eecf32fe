/**
 * The metadata of the types of blocks. Their packages need React and a browser, so the category of each is read from the
 * files without running them.
 */

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import type { BlockMeta } from "./engine-types.ts";

/** Reads the types of blocks of an installed package. */
export function readBlockMetas(packageFolder: string): Record<string, BlockMeta> {
  const folder = join(packageFolder, "dist", "blocks");
  if (!existsSync(folder)) return {};
  const metas: Record<string, BlockMeta> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".js")) continue;
    const found = parseMeta(readFileSync(join(folder, path), "utf8"));
    const name = path.split(/[\\/]/).pop()!.slice(0, -".js".length);
    if (found) metas[name] = found;
  }
  return metas;
}

/** Returns the `meta` that a module assigns to its component, if any. */
export function parseMeta(source: string): BlockMeta | undefined {
  const literal = /\.meta = \{([^]*?)\n\};/.exec(source)?.[1];
  const category = literal && /category: '(container|display|input|list)'/.exec(literal)?.[1];
  if (!category) return undefined;
  const valueType = /valueType: '(\w+)'/.exec(literal)?.[1];
  const initValue = /initValue: (\{[^}]*\}|'[^']*'|[\w.]+)/.exec(literal)?.[1];
  return {
    category: category as BlockMeta["category"],
    ...(valueType && { valueType }),
    ...(initValue && { initValue: parseLiteral(initValue) }),
  };
}

/** Parses a literal of JavaScript that is JSON except for its quotes. */
function parseLiteral(literal: string): unknown {
  return JSON.parse(literal.replace(/'/g, '"').replace(/(\w+):/g, '"$1":'));
}

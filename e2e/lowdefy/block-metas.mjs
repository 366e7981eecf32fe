// Lists the block types of the installed packages of Lowdefy, without loading React: `node block-metas.mjs [FOLDER]`
// prints them as JSON. FOLDER is a `node_modules`, by default that of this folder.
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runInNewContext } from "node:vm";

import { isMain } from "./is-main.mjs";
import { nodeModules } from "./packages.mjs";

const EXPORT = /export \{ default as (\w+) \} from '(\.\/blocks\/[^']+)'/g;
const META = /^(\w+)\.meta = (\{[\s\S]*?^\});/m;
const SHARED_FILE = /from '(\.\.\/\.\.\/[^']+)'/g;
const METHOD = /registerMethod\((?:'|get\(rename, 'methods\.)(\w+)'/g;

/**
 * Reads all block types of the packages `@lowdefy/blocks-*`, as
 * `[{ type, package, category, valueType?, initValue?, events, methods }]`.
 *
 * `category` is "input", "display", "container" or "list". `events` are those that the block's schema names, and
 * `methods` those that its component registers when it is mounted.
 */
export async function readBlockTypes(folder = nodeModules) {
  const names = await readdir(join(folder, "@lowdefy"));
  const packages = names.filter((name) => name.startsWith("blocks-")).sort();
  const types = await Promise.all(packages.map((name) => readPackage(folder, `@lowdefy/${name}`)));
  return types.flat();
}

async function readPackage(folder, name) {
  const dist = join(folder, name, "dist");
  const exported = [...(await readFile(join(dist, "blocks.js"), "utf8")).matchAll(EXPORT)];
  return Promise.all(exported.map(async ([, type, path]) => {
    const file = join(dist, path);
    const source = await readFile(file, "utf8");
    const { category, valueType, initValue } = evaluateMeta(source, file);
    const [events, methods] = await Promise.all([readEvents(file), readMethods(source, file)]);
    return { type, package: name, category, valueType, initValue, events, methods };
  }));
}

/** Evaluates the literal that a component has as its `meta`. It only refers to the icons of other components. */
function evaluateMeta(source, file) {
  const [, , literal] = META.exec(source) ?? [];
  if (literal === undefined) {
    throw new Error(`${file} has no meta`);
  }
  const component = { meta: { icons: [] } };
  const globals = Object.fromEntries([...literal.matchAll(/\.\.\.(\w+)\.meta/g)].map(([, name]) => [name, component]));
  return JSON.parse(JSON.stringify(runInNewContext(`(${literal})`, globals)));
}

/** Most blocks have a schema; those of `@lowdefy/blocks-google-maps` have none. */
async function readEvents(file) {
  const schema = join(dirname(file), "schema.json");
  if (!existsSync(schema)) {
    return [];
  }
  const { properties, events } = JSON.parse(await readFile(schema, "utf8"));
  return Object.keys((events ?? properties?.events)?.properties ?? {});
}

/** The methods are registered in the component's file, or in one that several components of the package share. */
async function readMethods(source, file) {
  const shared = [...source.matchAll(SHARED_FILE)].map(([, path]) => readFile(join(dirname(file), path), "utf8"));
  const sources = [source, ...(await Promise.all(shared))];
  return sources.flatMap((text) => [...text.matchAll(METHOD)].map(([, method]) => method));
}

if (isMain(import.meta)) {
  console.log(JSON.stringify(await readBlockTypes(process.argv[2]), null, 2));
}

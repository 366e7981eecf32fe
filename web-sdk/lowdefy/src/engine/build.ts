/** Builds an app with Lowdefy's own build. */

import { mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import build, { createPluginTypesMap } from "@lowdefy/build";
import { parseDocument } from "yaml";

import { AppError } from "./app-error.ts";
import { PackageFinder, versionOf } from "./packages.ts";

/** The key of `lowdefy.yaml` for this host, which the build does not know. */
const OWN_KEY = "mcp";

/** The result of a build. */
export interface BuildResult {
  /** The folder with the files of the build. */
  folder: string;
  /** The name of the app. */
  name: string | undefined;
  /** The settings for this host in `lowdefy.yaml`. */
  mcp: unknown;
}

/**
 * Builds the app of a folder into another one. Warnings of the build are passed on.
 *
 * @throws AppError if there is no `lowdefy.yaml`, or the app cannot be built.
 */
export async function buildApp(config: string, output: string, warn: (text: string) => void): Promise<BuildResult> {
  const packages = new PackageFinder(config);
  const { document, plugins, name } = await readConfig(config);
  const mcp: unknown = document.toJS()?.[OWN_KEY];
  await rm(output, { recursive: true, force: true });
  const folder = join(output, "build");
  const server = join(output, "server");
  // The build copies these files, and writes the packages that the app needs to the second one.
  await mkdir(join(server, "public_default"), { recursive: true });
  await writeFile(join(server, "package.json"), JSON.stringify({ dependencies: {} }));
  await mkdir(folder, { recursive: true });
  const directory = mcp === undefined ? config : await copyWithout(document, config, join(output, "config"));
  try {
    await build({
      customTypesMap: await pluginTypes(plugins, packages),
      directories: { build: folder, config: directory, server },
      logger: { debug() {}, info() {}, succeed() {}, spin() {}, error: warn, warn },
      stage: "prod",
    });
  } catch (error) {
    throw new AppError(`the app in ${config} cannot be built: ${(error as Error).message}`);
  }
  return { folder, name, mcp };
}

async function readConfig(config: string) {
  const file = join(config, "lowdefy.yaml");
  const text = await readFile(file, "utf8").catch(() => {
    throw new AppError(`there is no ${file}: give the folder of a Lowdefy app with --config`);
  });
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem) throw new AppError(`${file} is not YAML: ${problem.message}`);
  const { name, plugins } = document.toJS() ?? {};
  return { document, name: typeof name === "string" ? name : undefined, plugins: Array.isArray(plugins) ? (plugins as { name?: unknown; typePrefix?: unknown }[]) : [] };
}

/** Creates a folder with the same files, whose `lowdefy.yaml` has no key that the build rejects. */
async function copyWithout(document: ReturnType<typeof parseDocument>, config: string, copy: string): Promise<string> {
  await mkdir(copy, { recursive: true });
  for (const name of await readdir(config)) {
    if (name !== "lowdefy.yaml") await symlink(resolve(config, name), join(copy, name));
  }
  document.delete(OWN_KEY);
  await writeFile(join(copy, "lowdefy.yaml"), String(document));
  return copy;
}

/** Returns the types of the app's plugins, in the format that the build requires. */
async function pluginTypes(plugins: { name?: unknown; typePrefix?: unknown }[], packages: PackageFinder): Promise<object> {
  const typesMap = {
    actions: {},
    auth: { adapters: {}, callbacks: {}, events: {}, providers: {} },
    blocks: {},
    connections: {},
    icons: {},
    operators: { client: {}, server: {} },
    requests: {},
    styles: { packages: {}, blocks: {} },
  };
  for (const { name, typePrefix } of plugins) {
    if (typeof name !== "string") throw new AppError("a plugin of lowdefy.yaml has no name");
    const { default: packageTypes } = (await packages.load(`${name}/types`)) as { default: object };
    createPluginTypesMap({ packageName: name, packageTypes, typesMap, version: versionOf(packages.folder(name)), ...(typeof typePrefix === "string" && { typePrefix }) });
  }
  return typesMap;
}

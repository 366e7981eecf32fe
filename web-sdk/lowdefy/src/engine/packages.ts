/** Finds the packages of an app: in its own folder, or beside this host. */

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { AppError } from "./app-error.ts";

/** Finds the packages of one app. */
export class PackageFinder {
  readonly #requires: NodeJS.Require[];
  readonly #config: string;

  constructor(config: string) {
    this.#config = config;
    this.#requires = [createRequire(join(resolve(config), "lowdefy.yaml")), createRequire(import.meta.url)];
  }

  /** Loads a module of a package. @throws AppError if it is not installed. */
  async load(specifier: string): Promise<unknown> {
    return import(this.resolve(specifier));
  }

  /** Returns the URL of a module of a package. @throws AppError if it is not installed. */
  resolve(specifier: string): string {
    const path = this.#requires.map((require) => tryResolve(require, specifier)).find(Boolean);
    if (!path) throw this.#missing(specifier);
    return pathToFileURL(realpathSync(path)).href;
  }

  /** Returns the folder of a package. @throws AppError if it is not installed. */
  folder(name: string): string {
    const folder = this.#requires.flatMap((require) => require.resolve.paths(name) ?? []).map((path) => join(path, name)).find((path) => existsSync(path));
    if (!folder) throw this.#missing(name);
    return folder;
  }

  #missing(specifier: string): AppError {
    const name = specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : specifier.split("/")[0]!;
    return new AppError(`the app needs the package ${name}: run "npm install ${name}${name.startsWith("@lowdefy/") ? "@4.0.0-rc.11" : ""}" in ${this.#config}`);
  }
}

/** Imports by this host in the processes of users. */
const OWN_IMPORTS = ["@lowdefy/engine", "@lowdefy/helpers", "mcp-web-sdk/page-driver"];

/** Returns the folders of modules, of this host and of the packages that they need. */
export function foldersOfModules(urls: readonly string[]): string[] {
  const all = [...urls, import.meta.url, ...OWN_IMPORTS.map((specifier) => import.meta.resolve(specifier))];
  const folders = all.flatMap((url) => foldersAround(dirname(fileURLToPath(url))));
  return [...new Set(folders.flatMap((folder) => [folder, realpathSync(folder)]))];
}

/** Returns the package of a module, and each `node_modules` in which its imports are resolved. */
function foldersAround(folder: string): string[] {
  const around = [];
  let hasPackage = false;
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if (!hasPackage && existsSync(join(at, "package.json"))) {
      hasPackage = true;
      around.push(at);
    }
    const packages = basename(at) === "node_modules" ? at : join(at, "node_modules");
    if (existsSync(packages)) around.push(packages);
  }
  return around;
}

function tryResolve(require: NodeJS.Require, specifier: string): string | undefined {
  try {
    return require.resolve(specifier);
  } catch {
    return resolveImport(require, specifier);
  }
}

/** Packages with only ES modules may have no export for `require`. */
function resolveImport(require: NodeJS.Require, specifier: string): string | undefined {
  const [first = "", second = "", ...rest] = specifier.split("/");
  const name = first.startsWith("@") ? `${first}/${second}` : first;
  const inner = first.startsWith("@") ? rest : [second, ...rest].filter(Boolean);
  for (const path of require.resolve.paths(name) ?? []) {
    const folder = dirname(join(path, name, "package.json"));
    if (!existsSync(join(folder, "package.json"))) continue;
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const target: unknown = exports?.[`./${inner.join("/")}`];
    const file = typeof target === "string" ? target : (target as { import?: string; default?: string } | undefined)?.import ?? (target as { default?: string } | undefined)?.default;
    if (file) return join(folder, file);
  }
  return undefined;
}

/** Returns the version of a package. */
export const versionOf = (folder: string): string => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;

// Where the packages of package.json are installed: beside this file, or where `cargo xtask` puts them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const FOLDERS = ["./node_modules", "../../target/tools/lowdefy/node_modules"];

/** The folder of the packages. */
export const nodeModules = FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url))).find(existsSync);

if (!nodeModules) {
  throw new Error("the packages of e2e/lowdefy are not installed: run `npm ci --ignore-scripts` in that folder");
}

const { resolve } = createRequire(join(nodeModules, "package.json"));

/** Imports a package, of which some are ES modules only. */
export function importPackage(name) {
  return import(pathToFileURL(resolve(name)).href);
}

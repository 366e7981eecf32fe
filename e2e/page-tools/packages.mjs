// Where the packages of package.json are installed: beside this file, or where `cargo xtask` puts them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDERS = ["./node_modules", "../../target/tools/page-tools/node_modules"];

/** The folder of the packages. */
export const nodeModules = FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url))).find(existsSync);

if (!nodeModules) {
  throw new Error("the packages of e2e/page-tools are not installed: run `npm ci --ignore-scripts` in that folder");
}

/** Loads a package, or with `load.resolve` finds its file. */
export const load = createRequire(join(nodeModules, "package.json"));

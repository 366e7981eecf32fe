/**
 * Writes `src/engine/block-metas.json`: the types of blocks of Lowdefy's own packages, which need not be installed then.
 *
 * `node tools/write-block-metas.ts FOLDER`, where FOLDER is a `node_modules` with the packages.
 */

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { readBlockMetas } from "../src/engine/read-block-metas.ts";

const [folder = "node_modules"] = process.argv.slice(2);
const scope = join(folder, "@lowdefy");
const names = readdirSync(scope).filter((name) => name.startsWith("blocks-")).sort();
const metas = names.map((name) => {
  const types = Object.entries(readBlockMetas(join(scope, name))).sort(([one], [other]) => (one < other ? -1 : 1));
  return [`@lowdefy/${name}`, Object.fromEntries(types)];
});
const file = new URL("../src/engine/block-metas.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(Object.fromEntries(metas), null, 1)}\n`);

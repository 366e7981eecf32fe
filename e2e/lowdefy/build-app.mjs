// Builds a Lowdefy app with the real build: `node build-app.mjs CONFIG_FOLDER OUT_FOLDER`.
//
// OUT_FOLDER becomes what the folder of a Lowdefy server is. README.md lists its files.
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { importPackage, nodeModules } from "./packages.mjs";
import { isMain } from "./is-main.mjs";

/**
 * Builds the app of `configFolder` into `outFolder`, which is emptied before.
 *
 * Returns the warnings of the build, those about its schema among them. It fails with the message of the build if the
 * app cannot be built.
 */
export async function buildApp(configFolder, outFolder) {
  const directories = {
    config: resolve(configFolder),
    server: resolve(outFolder),
    build: resolve(outFolder, "build"),
  };
  await prepareServerFolder(directories.server);
  const { default: build } = await importPackage("@lowdefy/build");
  const warnings = [];
  const ignore = () => {};
  const logger = { debug: ignore, info: ignore, log: ignore, warn: (text) => warnings.push(text), error: console.error };
  await build({ directories, logger });
  return warnings;
}

/** Writes what the build expects of the folder of a server: it adds the app's packages to `package.json`. */
async function prepareServerFolder(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "public_default"), { recursive: true });
  const manifest = { private: true, type: "module", dependencies: {} };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  // `build/plugins/*.js` import the packages by name.
  await symlink(nodeModules, join(folder, "node_modules"), "junction");
}

if (isMain(import.meta)) {
  const [configFolder, outFolder] = process.argv.slice(2);
  if (!outFolder) {
    throw new Error("give the folder of the app and the folder to write into: node build-app.mjs CONFIG_FOLDER OUT_FOLDER");
  }
  const warnings = await buildApp(configFolder, outFolder);
  for (const warning of warnings) {
    console.error(warning);
  }
  console.log("built");
}

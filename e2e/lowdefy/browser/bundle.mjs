// Bundles the browser's page of a built app into FOLDER/site: `node browser/bundle.mjs FOLDER`.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { isMain } from "../is-main.mjs";
import { importPackage, nodeModules } from "../packages.mjs";

/** Bundles script and styles of the app that `buildApp` wrote into `folder`. */
export async function bundleApp(folder) {
  const site = join(resolve(folder), "site");
  await mkdir(site, { recursive: true });
  await Promise.all([bundleScript(resolve(folder), site), compileStyles(resolve(folder), site)]);
}

async function bundleScript(folder, site) {
  const { build } = await importPackage("esbuild");
  await build({
    entryPoints: [fileURLToPath(new URL("main.jsx", import.meta.url))],
    outdir: site,
    alias: { "app-plugins": join(folder, "build/plugins") },
    nodePaths: [nodeModules],
    bundle: true,
    minify: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
    legalComments: "none",
  });
}

/** Compiles the style sheet of the build, which imports those of antd 4 and of the blocks that the app uses. */
async function compileStyles(folder, site) {
  const { default: less } = await importPackage("less");
  const source = await readFile(join(folder, "build/plugins/styles.less"), "utf8");
  // Less does not know `exports` of package.json: the packages of Lowdefy have their files in `dist`.
  const resolved = source.replace(/'(@lowdefy\/[^/]+)\//g, "'$1/dist/");
  const { css } = await less.render(resolved, { javascriptEnabled: true, paths: [nodeModules] });
  await writeFile(join(site, "main.css"), css);
}

if (isMain(import.meta)) {
  if (process.argv.length !== 3) {
    throw new Error("give the folder of the built app: node browser/bundle.mjs FOLDER");
  }
  await bundleApp(process.argv[2]);
  console.log("bundled");
}

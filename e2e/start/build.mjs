// Writes what the pages load into a folder, and a copy of each file after brotli at its best level:
// `node build.mjs PAGES SDK ESBUILD OUTPUT`, in a folder with the packages of package.json.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const [pages, sdk, esbuildPath, output] = process.argv.slice(2);
const esbuild = createRequire(import.meta.url)(esbuildPath);
mkdirSync(output);

// One at a time, so that they do not share files.
for (const page of ["mcp-web-bundled", "mcp-b-global-bundled"]) {
  await esbuild.build({
    entryPoints: [join(pages, `${page}.js`)],
    alias: { "mcp-web-sdk": join(sdk, "mcp-web.js") },
    nodePaths: [resolve("node_modules")],
    outdir: output,
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
  });
}

// Its `build/webmcp.js` defines nothing that a page can reach.
const webmcp = readFileSync("node_modules/@jason.today/webmcp/src/webmcp.js", "utf8");
writeFileSync(join(output, "webmcp.js"), (await esbuild.transform(webmcp, { minify: true })).code);

for (const [source, name] of [
  [join(sdk, "mcp_web_core_bg.wasm"), "mcp_web_core_bg.wasm"],
  ["node_modules/@mcp-b/global/dist/index.iife.js", "mcp-b-global.iife.js"],
  ["node_modules/@mcp-b/webmcp-local-relay/dist/browser/embed.js", "embed.js"],
  ["node_modules/@mcp-b/webmcp-local-relay/dist/browser/widget.html", "widget.html"],
]) {
  copyFileSync(source, join(output, name));
}

for (const name of readdirSync(output)) {
  const content = readFileSync(join(output, name));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: 22,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  writeFileSync(join(output, `${name}.br`), brotliCompressSync(content, { params }));
}
console.log("built");

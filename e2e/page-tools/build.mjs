// Writes all pages as static files into a folder, with an `index.json` that lists them:
// `node build.mjs OUT_FOLDER`.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { load, nodeModules } from "./packages.mjs";

const esbuild = load("esbuild");
const svelte = load("svelte/compiler");
const vue = load("vue/compiler-sfc");

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const packagePath = (path) => join(nodeModules, path);

/** The line that each page has: the server provides this file. */
const ENABLE = '<script type="module" src="/enable-page-tools.js"></script>';

const compileSvelte = {
  name: "svelte",
  setup(build) {
    build.onLoad({ filter: /\.svelte$/ }, ({ path }) => {
      const options = { filename: path, generate: "client", css: "injected" };
      return { contents: svelte.compile(readFileSync(path, "utf8"), options).js.code, resolveDir: dirname(path) };
    });
  },
};

const compileVue = {
  name: "vue",
  setup(build) {
    build.onLoad({ filter: /\.vue$/ }, ({ path }) => {
      const { descriptor, errors } = vue.parse(readFileSync(path, "utf8"), { filename: path });
      if (errors.length > 0) {
        throw errors[0];
      }
      const script = vue.compileScript(descriptor, { id: basename(path), inlineTemplate: true });
      return { contents: script.content, resolveDir: dirname(path) };
    });
  },
};

/** Bundles a script with its packages into `folder`. */
async function bundle(script, folder) {
  await esbuild.build({
    entryPoints: [script],
    outdir: folder,
    nodePaths: [nodeModules],
    plugins: [compileSvelte, compileVue],
    bundle: true,
    minify: true,
    format: "esm",
    jsx: "automatic",
    loader: { ".css": "css", ".svg": "dataurl" },
    conditions: ["style", "browser", "production"],
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
    legalComments: "none",
  });
}

async function buildLibraries(folder) {
  await bundle(here("libraries/main.jsx"), folder);
  for (const name of ["index.html", "frame.html", "rows.json"]) {
    cpSync(here(`libraries/${name}`), join(folder, name));
  }
}

/** Copies an example of the package `todomvc`, and lets its page load the page tools. */
function copyTodoMvc(framework, folder) {
  const source = packagePath(`todomvc/examples/${framework}`);
  cpSync(source, folder, { recursive: true });
  const page = join(folder, "index.html");
  writeFileSync(page, readFileSync(page, "utf8").replace("</body>", `\t${ENABLE}\n\t</body>`));
}

async function buildApp(name, folder) {
  mkdirSync(folder, { recursive: true });
  cpSync(here(`apps/${name}`), folder, { recursive: true, filter: (path) => !path.endsWith(".js") });
  await bundle(here(`apps/${name}/main.js`), folder);
}

function buildSwaggerUi(folder) {
  cpSync(here("apps/swagger-ui"), folder, { recursive: true });
  for (const name of ["swagger-ui.css", "swagger-ui-bundle.js"]) {
    cpSync(packagePath(`swagger-ui-dist/${name}`), join(folder, name));
  }
}

/** Describes a page for `index.json`. */
function describe(output, group, path) {
  const [, title] = /<title>([^<]*)<\/title>/.exec(readFileSync(join(output, path), "utf8"));
  const parts = path.split("/");
  const name = parts.at(-1) === "index.html" ? parts.at(-2) : basename(path, ".html");
  return { name, group, path, title };
}

const output = process.argv[2] && resolve(process.argv[2]);
if (!output) {
  throw new Error("give the folder to write into: node build.mjs OUT_FOLDER");
}
for (const group of ["libraries", "apps", "pages"]) {
  rmSync(join(output, group), { recursive: true, force: true });
  mkdirSync(join(output, group), { recursive: true });
}
await buildLibraries(join(output, "libraries"));
copyTodoMvc("react", join(output, "apps/todomvc-react"));
copyTodoMvc("vue", join(output, "apps/todomvc-vue"));
await buildApp("checkout", join(output, "apps/checkout"));
await buildApp("data-grid", join(output, "apps/data-grid"));
await buildApp("react-list", join(output, "apps/react-list"));
buildSwaggerUi(join(output, "apps/swagger-ui"));
cpSync(here("pages"), join(output, "pages"), { recursive: true });

const apps = ["todomvc-react", "todomvc-vue", "checkout", "data-grid", "react-list", "swagger-ui"];
const pages = readdirSync(here("pages")).filter((name) => name.endsWith(".html"));
const index = [
  describe(output, "libraries", "libraries/index.html"),
  ...apps.map((name) => describe(output, "apps", `apps/${name}/index.html`)),
  ...pages.map((name) => describe(output, "pages", `pages/${name}`)),
];
writeFileSync(join(output, "index.json"), `${JSON.stringify(index, null, 2)}\n`);
console.log("built");

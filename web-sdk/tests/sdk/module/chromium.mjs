// Runs the tests in `../page` in a real Chromium, against the built package.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { stripTypeScriptTypes } from "node:module";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "./person.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** The folders for files of a page, in order: the built package, the tests, the sources, and npm packages. */
const FOLDERS = [here("../../../../target/sdk"), here("../page"), here("../../../js"), here("../../../../target/tools/web-sdk-node")];

const TYPES = { ".js": "text/javascript", ".ts": "text/javascript", ".html": "text/html", ".wasm": "application/wasm" };

const FLAGS = [
  "--headless", ...(await readFile(here("../../chromium-flags.txt"), "utf8")).trim().split("\n"),
  // The names and roles that a screen reader would announce.
  "--enable-blink-features=ComputedAccessibilityInfo",
];

const { version: VERSION } = JSON.parse(await readFile(here("../../../js/package.json"), "utf8"));

/**
 * Runs a test suite, a module in `../page`, in a browser with additional flags, and returns the results: `[{ name, error?
 * }]`.
 */
export function inChromium(suite, flags = []) {
  const results = Promise.withResolvers();
  const run = async (browser) => {
    await serve(browser, "Tests");
    return results.promise;
  };
  return withChromium(`page.html?${suite}`, ["--remote-debugging-port=0", ...flags], run, results);
}

/**
 * Opens a page of `../page` in a browser, and runs a function with the browser's profile. `results` is the data that the
 * page sends.
 */
export async function withChromium(page, flags, run, results = Promise.withResolvers()) {
  const server = createServer((request, response) => answer(request, response, results.resolve));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const profile = await mkdtemp(join(tmpdir(), "mcp-web-chromium-"));
  const url = `http://127.0.0.1:${server.address().port}/${page}`;
  const program = process.env.MCP_WEB_CHROMIUM ?? "/usr/bin/chromium";
  // The browser's leftovers after a kill are removed with its profile.
  const env = { ...process.env, TMPDIR: profile };
  const browser = spawn(program, [...FLAGS, ...flags, `--user-data-dir=${profile}`, url], { stdio: ["ignore", "ignore", "pipe"], env });
  let stderr = "";
  browser.stderr.on("data", (text) => (stderr += text));
  browser.on("error", results.reject);
  const exited = once(browser, "exit").then(() => results.reject(new Error(`Chromium ended early: ${stderr}`)));
  try {
    return await Promise.race([run(browser), results.promise]);
  } finally {
    browser.kill("SIGKILL");
    await exited;
    server.close();
    server.closeAllConnections();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function answer(request, response, done) {
  if (request.method === "POST") {
    let body = "";
    for await (const part of request) body += part;
    response.end();
    return done(JSON.parse(body));
  }
  // A request that is never answered.
  if (request.url === "/never") return;
  const [, version, pathname] = /^(?:\/version-([^/]+))?(.*)$/.exec(new URL(request.url, "http://page").pathname);
  for (const folder of FOLDERS) {
    const content = await readFile(join(folder, pathname)).catch(() => undefined);
    if (content && version && pathname === "/mcp-web.js") {
      response.setHeader("content-type", TYPES[".js"]);
      return response.end(String(content).replace(`"${VERSION}"`, `"${version}"`));
    }
    if (content) {
      response.setHeader("content-type", TYPES[extname(pathname)] ?? "text/plain");
      return response.end(pathname.endsWith(".ts") ? stripTypeScriptTypes(String(content)) : content);
    }
  }
  response.statusCode = 404;
  response.end();
}

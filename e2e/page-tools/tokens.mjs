// Counts the tokens (o200k_base) of the texts that Playwright MCP and Page Agent give of the public pages, and
// measures how long Playwright MCP takes for an action: `node tokens.mjs FOLDER TEXT_FOLDER`, after
// `node build.mjs FOLDER`. Writes each text into TEXT_FOLDER, and prints
// `{ tokens: { PAGE: { playwrightMcp, pageAgent } }, sum, times: { ACTION: { p50, p95 } } }`, the times in
// milliseconds.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { launch } from "./chromium.mjs";
import { load, nodeModules } from "./packages.mjs";
import { VIEWPORT, startPlaywrightMcp } from "./playwright-mcp.mjs";
import { serve } from "./serve.mjs";

/** How often each action is measured. */
const TIMES = 50;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PAGES = JSON.parse(readFileSync(here("public-pages.json"), "utf8"));

const encoding = load("js-tiktoken").getEncoding("o200k_base");

/** Returns the text of each page by Playwright MCP. Each page is the first one of a browser. */
async function playwrightMcpTexts(url) {
  const texts = {};
  for (const { name, path, storage, ready } of PAGES) {
    const { call, close } = await startPlaywrightMcp(url, storage);
    await call("browser_navigate", { url: `${url}/${path}` });
    await call("browser_wait_for", { text: ready });
    texts[name] = await call("browser_snapshot", {});
    await close();
  }
  return texts;
}

/** Returns the text of each page by Page Agent. */
async function pageAgentTexts(url) {
  const options = { entryPoints: [here("page-agent.js")], nodePaths: [nodeModules], bundle: true, write: false };
  const { outputFiles } = await load("esbuild").build({ ...options, external: ["*.css"], format: "iife", logLevel: "error" });
  const browser = await launch();
  const texts = {};
  for (const { name, path, storage, ready } of PAGES) {
    const localStorage = Object.entries(storage).map(([name, value]) => ({ name, value }));
    const page = await browser.newPage({ viewport: VIEWPORT, storageState: { cookies: [], origins: [{ origin: url, localStorage }] } });
    await page.goto(`${url}/${path}`);
    await page.getByText(ready).first().waitFor();
    await page.addScriptTag({ content: outputFiles[0].text });
    texts[name] = await page.evaluate(() => window.pageAgentText());
    await page.close();
  }
  await browser.close();
  return texts;
}

/** Measures an action on the page of the libraries. */
async function actionTimes(url) {
  const { call, close } = await startPlaywrightMcp(url);
  await call("browser_navigate", { url: `${url}/libraries/index.html` });
  const snapshot = await call("browser_snapshot", {});
  const refOf = (line) => new RegExp(`${line}.* \\[ref=(\\w+)\\]`).exec(snapshot)[1];
  const field = { element: "React name", target: refOf('textbox "React name"') };
  const button = { element: "React count", target: refOf('button "React count"') };
  const times = {
    browser_type: await measure((turn) => call("browser_type", { ...field, text: `name ${turn}` })),
    browser_click: await measure(() => call("browser_click", button)),
  };
  await close();
  return times;
}

async function measure(act) {
  const times = [];
  for (let turn = 0; turn < TIMES; turn += 1) {
    const start = performance.now();
    await act(turn);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const quantile = (share) => Math.round(times[Math.ceil(TIMES * share) - 1] * 10) / 10;
  return { p50: quantile(0.5), p95: quantile(0.95) };
}

const [, , folder, textFolder] = process.argv;
mkdirSync(textFolder, { recursive: true });
const server = await serve(folder);
const kinds = { playwrightMcp: await playwrightMcpTexts(server.url), pageAgent: await pageAgentTexts(server.url) };
const tokens = {};
const sum = {};
for (const { name } of PAGES) {
  tokens[name] = {};
  for (const [kind, texts] of Object.entries(kinds)) {
    // Another port would be other tokens.
    const text = texts[name].replaceAll(server.url, "http://127.0.0.1:8080");
    writeFileSync(join(textFolder, `${name}.${kind}.txt`), text);
    tokens[name][kind] = encoding.encode(text).length;
    sum[kind] = (sum[kind] ?? 0) + tokens[name][kind];
  }
}
const times = await actionTimes(server.url);
console.log(JSON.stringify({ tokens, sum, times }, null, 2));
server.close();

// Debian's Chromium, driven by playwright-core.
import { readFileSync } from "node:fs";

import { load } from "./packages.mjs";

const { chromium } = load("playwright-core");

const PROGRAM = process.env.MCP_WEB_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = readFileSync(new URL("../../web-sdk/tests/chromium-flags.txt", import.meta.url), "utf8").trim().split("\n");

/** Starts a headless browser. */
export function launch() {
  return chromium.launch({ executablePath: PROGRAM, args: FLAGS });
}

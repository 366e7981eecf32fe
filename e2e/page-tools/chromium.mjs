// Debian's Chromium, driven by playwright-core.
import { load } from "./packages.mjs";

const { chromium } = load("playwright-core");

export const PROGRAM = process.env.MCP_WEB_CHROMIUM ?? "/usr/bin/chromium";

export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

/** Starts a headless browser. */
export function launch() {
  return chromium.launch({ executablePath: PROGRAM, args: FLAGS });
}

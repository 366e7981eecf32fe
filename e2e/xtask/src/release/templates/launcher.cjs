#!/usr/bin/env node
// Starts the program of this platform, which is in another package: no install script downloads it.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");

const PLATFORM = `${process.platform}-${process.arch}`;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

function findProgram() {
  if (process.env.MCP_WEB_PROGRAM) return process.env.MCP_WEB_PROGRAM;
  const suffix = process.platform === "win32" ? ".exe" : "";
  try {
    const manifest = require.resolve(`mcp-web-${PLATFORM}/package.json`);
    return join(dirname(manifest), "bin", `mcp-web${suffix}`);
  } catch {
    console.error(`mcp-web: the package with the program for ${PLATFORM} is not installed.`);
    console.error("Install without --omit=optional, or set MCP_WEB_PROGRAM to the path of a program.");
    process.exit(1);
  }
}

const child = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`mcp-web: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));

// npx runs this below a shell. A signal ends npx and the shell only, so the end of the parent must do.
if (process.env.npm_command === "exec") {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && child.kill(), 1000).unref();
}

/**
 * Runs the build in a separate process: an error in a part that it does not await ends the process, and modules of the app
 * that were loaded before are read again.
 */

import { fork } from "node:child_process";

import { AppError } from "./app-error.ts";
import type { BuildResult } from "./build.ts";

/** The messages of the build process. */
export type BuildMessage = { warning: string } | { result: BuildResult } | { error: string };

/** Maximum duration of a build. */
const MAX_BUILD_MS = 120_000;

/** Builds an app. @throws AppError if it cannot be built. */
export function runBuild(config: string, output: string, warn: (text: string) => void): Promise<BuildResult> {
  const program = new URL(import.meta.url.endsWith(".ts") ? "./build-process.ts" : "./build-process.js", import.meta.url);
  const child = fork(program, [config, output], { stdio: ["ignore", "ignore", "pipe", "ipc"], timeout: MAX_BUILD_MS, execArgv: [] });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-4000)));
  return new Promise((resolve, reject) => {
    child.on("message", (message: BuildMessage) => {
      if ("warning" in message) warn(message.warning);
      else if ("result" in message) resolve(message.result);
      else reject(new AppError(message.error));
    });
    child.on("error", (error) => reject(new AppError(`the build of ${config} cannot be started: ${error.message}`)));
    child.on("exit", (code, signal) => {
      const reason = signal ? `it was ended after ${MAX_BUILD_MS / 1000} s` : firstError(errors) || `exit code ${code}`;
      reject(new AppError(`the app in ${config} cannot be built: ${reason}`));
    });
  });
}

/** Returns the message of the error that ended a process. */
const firstError = (text: string): string => /^\s*(?:\w*Error): (.+)$/m.exec(text)?.[1] ?? text.trim().split("\n").at(-1) ?? "";

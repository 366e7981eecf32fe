/** Functions that the tests of all stores share. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { inspect } from "node:util";

import { type NewSession, principalOfToken, type SessionStoreErrorCode, SessionStoreError } from "../../src/stores/index.ts";

/** Returns a unique principal. */
export function newPrincipal(): string {
  return principalOfToken(`token of ${randomUUID()}`);
}

export function newSession(changes: Partial<NewSession> = {}): NewSession {
  return { sessionId: randomUUID(), name: "Orders of May", description: "Ünïcode 🦀", pageId: "orders", saved: { state: { total: 7 }, lists: [[1, null, "ü"]] }, ...changes };
}

/** A clock that only the test advances. */
export class TestClock {
  time = Date.now();
  now = (): number => this.time;
}

/** Returns the failure of a promise, which must have this code and a message with advice. */
export async function failureOf(code: SessionStoreErrorCode, promise: Promise<unknown>): Promise<SessionStoreError> {
  const error = await promise.then((value) => assert.fail(`${code} was expected, not ${inspect(value)}`), (reason: unknown) => reason);
  assert.ok(error instanceof SessionStoreError, inspect(error));
  assert.equal(error.code, code, inspect(error));
  assert.match(error.message, /^.+: .+$/s);
  return error;
}

/** The outcome of a child process. */
export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
}

/** Runs a program of this folder. @param prefix begins the shell command, such as `ulimit -f 8;`. */
export async function runProgram(name: string, args: string[], prefix = ""): Promise<ProgramEnd> {
  const program = join(import.meta.dirname, "programs", name);
  const child = spawn("bash", ["-c", `${prefix} exec "$@"`, "bash", process.execPath, program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout }));
  });
}

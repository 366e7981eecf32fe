/** The token and the session id of an app, in a file that outlives its process. */

import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

import { randomHex } from "../mcp-web/random.ts";
import { TOKEN_BYTES } from "../mcp-web/token.ts";

/** The content of the file. */
export interface StoredState {
  bridgeUrl: string;
  name: string;
  token: string;
  sessionId: string;
}

/**
 * Returns the state in the file, which is created if it is missing.
 *
 * @throws Error if it belongs to another app or bridge, or is unreadable.
 */
export function loadState(path: string, bridgeUrl: string, name: string): StoredState {
  const state = parse(path, readOrCreate(path, bridgeUrl, name));
  if (state.bridgeUrl !== bridgeUrl || state.name !== name) {
    throw new Error(`stateFile ${path} belongs to "${state.name}" at ${state.bridgeUrl}: give each app and each bridge a separate file`);
  }
  return state;
}

function readOrCreate(path: string, bridgeUrl: string, name: string): string {
  try {
    const text = read(path);
    if (text !== undefined) return text;
    create(path, { bridgeUrl, name, token: randomHex(TOKEN_BYTES), sessionId: randomHex() });
    // Another process may have been faster. Both use the same file.
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { message, code } = cause as { message: string; code?: string };
    throw Object.assign(new Error(`stateFile ${path} cannot be used: ${message}`, { cause }), { code });
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Creates the file with its whole content, unless it exists. */
function create(path: string, state: StoredState): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unfinished = `${path}.${process.pid}.${randomHex(4)}`;
  try {
    writeFileSync(unfinished, `${JSON.stringify(state, null, 2)}\n`, { flag: "wx", mode: 0o600, flush: true });
    linkSync(unfinished, path);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  } finally {
    rmSync(unfinished, { force: true });
  }
}

function parse(path: string, text: string): StoredState {
  try {
    const state: Partial<StoredState> = JSON.parse(text);
    if ([state.bridgeUrl, state.name, state.token, state.sessionId].every((field) => typeof field === "string" && field)) return state as StoredState;
  } catch {
    // The message does not quote the content, which may be a token.
  }
  throw new Error(`stateFile ${path} is damaged: remove it, and configure AI clients again with the new token`);
}

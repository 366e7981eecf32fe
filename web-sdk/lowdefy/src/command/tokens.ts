/** The tokens of the users. They are written only to files that only their owner can read. */

import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

import { AppError } from "../engine/app-error.ts";

/** The same minimum as at the bridge. */
const MIN_CHARS = 16;

export const createToken = (): string => randomBytes(24).toString("base64url");

/** Reads a file of tokens. @throws AppError if it contains none, or one is too short. */
export async function readTokenFile(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new AppError(`--token-file cannot be read: ${error.message}`);
  });
  const lines = text.split(/\r?\n/).map((line, index) => ({ line: line.trim(), number: index + 1 }));
  const tokens = lines.filter(({ line }) => line && !line.startsWith("#"));
  if (!tokens.length) throw new AppError(`${file} has no token: one a line, ${MIN_CHARS} characters or more`);
  const short = tokens.find(({ line }) => line.length < MIN_CHARS);
  if (short) throw new AppError(`${file}:${short.number}: a token has ${MIN_CHARS} characters or more`);
  return [...new Set(tokens.map(({ line }) => line))];
}

/** Returns the token in a file, and creates the file with a new token if it is missing. */
export async function keptToken(file: string): Promise<string> {
  const kept = await readFile(file, "utf8").catch(() => "");
  if (kept.trim().length >= MIN_CHARS) return kept.trim();
  const token = createToken();
  await writePrivate(file, `${token}\n`);
  return token;
}

/** Writes a file that only its owner can read. */
export async function writePrivate(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600 });
    await chmod(file, 0o600);
  } catch (error) {
    throw new AppError(`${file} cannot be written: ${(error as Error).message}`);
  }
}

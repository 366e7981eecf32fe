import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { type CommandOptions, readOptions } from "../../src/command/options.ts";

const URL_WITH_PASSWORD = "redis://user:pa%2Fss@localhost:6379/1";
const storeOf = (args: string[], environment = {}) => (readOptions(["--token-file", "tokens", ...args], environment) as CommandOptions).store;

test("the store's URL with its password comes from a file or a variable", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-web-lowdefy-test-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "store");
  writeFileSync(file, `${URL_WITH_PASSWORD}\n`);
  assert.equal(storeOf(["--store-file", file]), URL_WITH_PASSWORD);
  assert.equal(storeOf([], { MCP_WEB_STORE: URL_WITH_PASSWORD }), URL_WITH_PASSWORD);
  assert.equal(storeOf(["--store-file", file], { MCP_WEB_STORE: "elsewhere" }), URL_WITH_PASSWORD);
  assert.equal(storeOf(["--store", "here"], { MCP_WEB_STORE: URL_WITH_PASSWORD }), "here");
});

test("a password in an argument is rejected, and not repeated", () => {
  assert.throws(() => storeOf(["--store", URL_WITH_PASSWORD]), (error: Error) => /--store has a password.*--store-file or MCP_WEB_STORE/.test(error.message) && !error.message.includes("pa%2Fss"));
  assert.equal(storeOf(["--store", "redis://localhost:6379"]), "redis://localhost:6379");
  assert.equal(storeOf(["--store", "C:/folder"]), "C:/folder");
});

test("the store may be given only once", () => {
  assert.throws(() => storeOf(["--store", "a", "--store-file", "b"]), /exclude each other/);
  assert.throws(() => storeOf(["--store-file", "/nowhere/at/all"]), /--store-file cannot be read/);
  assert.throws(() => storeOf(["--store-file", "/dev/null"]), /--store-file \/dev\/null is empty/);
  assert.throws(() => storeOf([], { MCP_WEB_STORE: "" }), /MCP_WEB_STORE is empty/);
});

test("sessions in Redis require a file of tokens", () => {
  assert.throws(() => readOptions(["--store", "redis://localhost:6379"], {}), /--token-file is needed/);
});

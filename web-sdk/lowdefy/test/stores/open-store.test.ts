import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { openStore } from "../../src/stores/index.ts";
import { newPrincipal } from "./support.ts";

test("a location that is neither a path nor a Redis URL is rejected without being repeated", async () => {
  const locations = [
    "",
    "mongodb://user:secret@host",
    "http://user:secret@host",
    "file:///secret",
    "redis:",
    "redis://",
    "redis://user:secret@",
    "redis://user:secret%GG@host",
    "redis://user:sec/ret@host:port",
    "redis://user:secret@host:99999",
    "redis://user:secret@host/not-a-number",
    "redis://user:secret@host/0?password=secret",
    "rediss://user:secret@host#secret",
  ];
  for (const location of locations) {
    const error = await openStore(location, newPrincipal()).then(() => assert.fail(location), (reason: unknown) => reason);
    assert.ok(error instanceof Error && / is .+: give /.test(error.message), inspect(error));
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes("secret"), inspect(error));
  }
});

test("a store opens although its Redis server is unavailable", async () => {
  // Port 1 is reserved: nothing listens there.
  await (await openStore("redis://127.0.0.1:1/3", newPrincipal())).dispose();
});

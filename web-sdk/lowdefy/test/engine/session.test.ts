import assert from "node:assert/strict";
import { test } from "node:test";

import { AppSession, type SessionApp } from "../../src/engine/session.ts";

test("roles are compared one by one", async () => {
  let reads = 0;
  const app: SessionApp = {
    plugins: { actions: {}, operators: {}, blocks: {} },
    limits: { maxStateBytes: 1000, maxListItems: 10 },
    async rootConfig() {
      reads += 1;
      return { home: {}, menus: [], lowdefyGlobal: {} };
    },
    page: async () => undefined,
    pages: async () => [],
    request: async () => undefined,
  };
  const session = new AppSession(app, { sub: "ada", roles: ["admin", "x"] });
  await session.setUser({ sub: "ada", roles: ["admin", "x"] });
  assert.equal(reads, 0);
  await session.setUser({ sub: "ada", roles: ["admin,x"] });
  assert.equal(reads, 1);
  await session.setUser({ roles: ["admin,x"] });
  assert.equal(reads, 2);
});

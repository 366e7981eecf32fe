import assert from "node:assert/strict";
import { test } from "node:test";

import { userOf } from "../../src/host/user.ts";

test("a signed token without roles has none", () => {
  assert.deepEqual(userOf({ sub: "ada", roles: [] }, ["admin"]), { sub: "ada", roles: [] });
  assert.deepEqual(userOf({ sub: "", roles: [] }, ["admin"]), { sub: "", roles: [] });
  assert.deepEqual(userOf({ sub: "ada", roles: ["editor"] }, ["admin"]), { sub: "ada", roles: ["editor"] });
});

test("an opaque token has the roles of the host", () => {
  assert.deepEqual(userOf({ roles: [] }, ["admin"]), { roles: ["admin"] });
  assert.deepEqual(userOf({ sub: undefined, roles: [] }, []), { roles: [] });
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { createRedactor } from "../../src/engine/secrets.ts";

const PASSWORD = 'p/ß "w+d\n~4';
const redactor = createRedactor({ PASSWORD, PIN: "007654", LONG: `${PASSWORD}-longer`, SHORT: "abc" });

test("a secret is hidden in each encoding", () => {
  const lower = encodeURIComponent(PASSWORD).toLowerCase();
  const everyByte = [...Buffer.from(PASSWORD)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const spellings = {
    plain: PASSWORD,
    "JSON text": JSON.stringify(PASSWORD).slice(1, -1),
    "JSON text in ASCII": JSON.stringify(PASSWORD).slice(1, -1).replace("ß", "\\u00DF").replace("/", "\\/"),
    "URL component": encodeURIComponent(PASSWORD),
    "URL component in lower case": lower,
    "URL component, twice": encodeURIComponent(encodeURIComponent(PASSWORD)),
    form: new URLSearchParams({ a: PASSWORD }).toString().slice(2),
    "every byte": everyByte,
    ...Object.fromEntries(
      ["", "a", "ab", "abc"].flatMap((before) =>
        (["base64", "base64url"] as const).map((encoding) => [`${encoding} after ${before.length}`, Buffer.from(`${before}${PASSWORD}: x`).toString(encoding)]),
      ),
    ),
    "base64 in a URL": encodeURIComponent(Buffer.from(`?${PASSWORD}`).toString("base64")),
  };
  for (const [name, spelling] of Object.entries(spellings)) {
    const hidden = redactor.text(`before ${spelling} after`);
    assert.match(hidden, /^before .{0,6}\(secret\).{0,8} after$/, `${name}: ${hidden}`);
  }
});

test("a secret is hidden as a key and as a number", () => {
  const date = new Date(0);
  const value = { [PASSWORD]: [1, { deep: `x${PASSWORD}` }], pin: 7654, text: "007654", near: 76541, date, none: null };
  assert.deepEqual(redactor.value(value), { "(secret)": [1, { deep: "x(secret)" }], pin: "(secret)", text: "(secret)", near: 76541, date, none: null });
});

test("short values and other texts are not changed", () => {
  for (const text of ["abc", "007", "p/ß", "", "100 %25 sure", "a".repeat(10_000)]) assert.equal(redactor.text(text), text);
});

test("text without a secret is processed in linear time", () => {
  const key = createRedactor({ KEY: "-----BEGIN PRIVATE KEY-----\n".repeat(100) });
  const started = performance.now();
  key.text("%25".repeat(300_000));
  key.text("-----BEGIN PRIVATE KEY-----\n".repeat(10_000));
  assert.ok(performance.now() - started < 2000, `${performance.now() - started} ms`);
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { principalOfSubject, principalOfToken } from "../../src/stores/index.ts";

function jwt(payload: unknown, header: unknown = { alg: "ES256" }, signature = "c2lnbmF0dXJl"): string {
  const encode = (value: unknown): string => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
  return `${encode(header)}.${encode(payload)}.${signature}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("an opaque token is named by its hash", () => {
  assert.equal(principalOfToken("0123456789abcdef"), sha256("0123456789abcdef"));
});

test("renewed tokens of one subject have the same name", () => {
  const names = [jwt({ iss: "https://a", sub: "ada", exp: 1 }), jwt({ iss: "https://a", sub: "ada", exp: 2 }, { alg: "RS256", kid: "2" }, "other")].map(principalOfToken);
  assert.deepEqual(names, [principalOfSubject("https://a", "ada"), principalOfSubject("https://a", "ada")]);
});

test("the name of a subject is the one that the bridge gives its realm", () => {
  // sha256(FF "mcp-web issuer and subject" 00, the issuer's length as 64 bits, issuer, subject), computed with sha256sum.
  assert.equal(principalOfSubject("https://id.example", "ada"), "20bd04ad71742c9cf398934a09dc6a070d3df9cbb149057991c0cf42eb9139e3");
});

test("no two principals have the same name", () => {
  const names = [
    principalOfToken(jwt({ iss: "https://a", sub: "bc" })),
    principalOfToken(jwt({ iss: "https://ab", sub: "c" })),
    principalOfToken(jwt({ iss: "https://a", sub: "b" })),
    principalOfToken(jwt({ iss: "https://abc", sub: " " })),
    principalOfToken("https://abc"),
    principalOfToken("bc"),
    principalOfToken("\xFFmcp-web issuer and subject\0\0\0\0\0\0\0\0\x09https://abc"),
  ];
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[0-9a-f]{64}$/);
});

test("a token that only looks like a signed one is opaque", () => {
  const claims = { iss: "https://a", sub: "ada" };
  const tokens = [
    jwt({ sub: "ada" }),
    jwt({ iss: "https://a" }),
    jwt({ iss: "", sub: "ada" }),
    jwt({ iss: "https://a", sub: 7 }),
    jwt({ iss: ["https://a"], sub: "ada" }),
    jwt("null"),
    jwt("7"),
    jwt("{"),
    jwt(claims, "{}"),
    jwt(claims, { alg: 1 }),
    `${jwt(claims)}.extra`,
    jwt(claims).replace(/\.[^.]*$/, ""),
    jwt('{"iss":"https://a","sub":"\\ud800"}'),
    `${jwt(claims).split(".")[0]}.${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}.x`,
    `${jwt(claims)}`.replace(".", ".="),
    "",
    "..",
    "a.b.c",
  ];
  for (const token of tokens) assert.equal(principalOfToken(token), sha256(token), token);
});

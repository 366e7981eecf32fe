/** The name under which a store holds the sessions of a principal. */

import { createHash } from "node:crypto";

/**
 * The bridge names realms with the same hash. UTF-8 text cannot begin with this byte, so no opaque token has the hash input
 * of a subject.
 */
const SUBJECT_DOMAIN = Buffer.from("\xFFmcp-web issuer and subject\0", "latin1");

const PRINCIPAL = /^[0-9a-f]{64}$/;

/**
 * Returns 64 hexadecimal digits that name the principal of a token, as the bridge identifies its realm: for a signed token
 * (JWT) the hash of its issuer and subject, so that a renewed token names the same principal; for any other token its hash.
 *
 * The signature is not verified. A host passes only tokens from its operator, and the bridge verifies them: the name itself
 * grants nothing.
 */
export function principalOfToken(token: string): string {
  const claims = readClaims(token);
  return claims ? principalOfSubject(claims.iss, claims.sub) : createHash("sha256").update(token).digest("hex");
}

/** Returns the name of the principal with this issuer and subject. */
export function principalOfSubject(issuer: string, subject: string): string {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(Buffer.byteLength(issuer)));
  return createHash("sha256").update(SUBJECT_DOMAIN).update(length).update(issuer).update(subject).digest("hex");
}

/** Returns whether the text is a name that `principalOfToken` returns. */
export function isPrincipal(text: string): boolean {
  return PRINCIPAL.test(text);
}

function readClaims(token: string): { iss: string; sub: string } | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  const header = decodeObject(parts[0] ?? "");
  const { iss, sub } = decodeObject(parts[1] ?? "") ?? {};
  if (typeof header?.["alg"] !== "string" || !isName(iss) || !isName(sub)) return undefined;
  return { iss, sub };
}

function decodeObject(part: string): Record<string, unknown> | undefined {
  if (!/^[\w-]+$/.test(part)) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(part, "base64url")));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A lone surrogate would be hashed as the replacement character, like every other lone surrogate. */
function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !/\p{Surrogate}/u.test(value);
}

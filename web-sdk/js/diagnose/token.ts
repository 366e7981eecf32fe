/** Describes a token in a diagnosis without revealing it. */

import type { DiagnosisFacts } from "./diagnosis-facts.ts";
import { failed, passed, unknown, warning } from "./check.ts";

/** From `bridge-protocol`: bridges reject shorter tokens that pages have generated. */
const MIN_LENGTH = 16;

export function tokenCheck({ token, tokenIsFetched }: DiagnosisFacts) {
  const name = "token";
  const from = tokenIsFetched ? "from the authToken function" : "fixed";
  if (!token) return unknown(name, tokenIsFetched ? "the authToken function has returned none yet" : "there is none");
  const claims = parseClaims(token);
  if (!claims) {
    const what = `opaque, ${token.length} characters, ${from}`;
    return token.length < MIN_LENGTH ? failed(name, what, `use at least ${MIN_LENGTH} characters`) : passed(name, what);
  }
  const what = `JWT, ${token.length} characters, ${from}`;
  if (typeof claims.exp !== "number") return passed(name, `${what}, without an end`);
  const seconds = Math.round(claims.exp - Date.now() / 1000);
  if (seconds > 0) return passed(name, `${what}, good for ${seconds} s more`);
  const expired = `${what}, expired ${-seconds} s ago`;
  // A function is called again before the next connection.
  return tokenIsFetched
    ? warning(name, expired, "see that the function fetches a fresh one")
    : failed(name, `TokenExpired: ${expired}`, "make authToken a function that fetches a fresh one");
}

/** Returns the claims of a JWT (RFC 7519), unverified, if the token is one. */
function parseClaims(token: string): { exp?: unknown } | undefined {
  const [header, payload, signature, ...more] = token.split(".");
  if (!header || !payload || signature === undefined || more.length) return undefined;
  return decodePart(header)?.alg ? decodePart(payload) : undefined;
}

function decodePart(part: string): { alg?: unknown; exp?: unknown } | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replace(/-/g, "+").replace(/_/g, "/")), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

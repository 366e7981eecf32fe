/** The URL of a Redis server, which may contain a password. */

/** Checks a `redis:` or `rediss:` URL. @throws Error that does not repeat the URL. */
export function checkRedisUrl(url: string): void {
  let parsed: URL;
  try {
    parsed = new URL(url);
    decodeURIComponent(parsed.username);
    decodeURIComponent(parsed.password);
  } catch {
    // No cause, because the error of `new URL` contains the URL.
    throw invalidUrl();
  }
  if (!/^rediss?:$/.test(parsed.protocol) || !parsed.hostname || !/^(\/\d*)?$/.test(parsed.pathname) || parsed.search || parsed.hash) throw invalidUrl();
}

/** Returns the host and the port of a checked URL. */
export function addressOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || "6379"}`;
}

function invalidUrl(): Error {
  return new Error("the URL of the Redis server is invalid: give redis://[user:password@]host[:port][/database], or rediss:// for TLS, with special characters of the password as %XX");
}

/** The addresses of a page and its bridge, as browsers classify them. */

/** Returns whether a host is this machine (RFC 6761 for the names). */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Returns whether a host is in a local network: private and link-local addresses, and names of mDNS. */
export function isLocal(hostname: string): boolean {
  return /^(10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|169\.254(\.\d+){2}|\[f[cd].*|\[fe[89ab].*|.*\.local)$/.test(hostname);
}

/** Facts about a page. */
export interface PageEnvironment {
  origin: string;
  secure: boolean;
  https: boolean;
  hostname: string;
  protocol: string | undefined;
  framed: boolean;
}

/** Facts about a bridge's address. */
export interface BridgeFacts {
  url: string;
  origin: string;
  hostname: string;
  port: string;
  https: boolean;
  loopback: boolean;
  local: boolean;
}

/** Returns the facts about this page that the checks use. In a frame with `srcdoc`, `location` has no address. */
export function pageFacts(): PageEnvironment {
  const { origin = "null", isSecureContext = false, location, top, self } = globalThis;
  const url = /^https?:/.test(origin) ? new URL(origin) : undefined;
  return {
    origin,
    secure: isSecureContext,
    https: (url ?? location)?.protocol === "https:",
    hostname: url?.hostname ?? location?.hostname ?? "",
    protocol: location?.protocol,
    framed: top !== undefined && top !== self,
  };
}

/** Returns the facts about a bridge's address. */
export function bridgeFacts(bridgeUrl: string): BridgeFacts {
  const { protocol, hostname, port, origin } = new URL(bridgeUrl);
  return { url: bridgeUrl, origin, hostname, port, https: protocol === "https:", loopback: isLoopback(hostname), local: isLocal(hostname) };
}

/** Explains why there is no connection. */

import { type BridgeFacts, type PageEnvironment, bridgeFacts, isLoopback, pageFacts } from "./addresses.ts";
import { allowedByPolicy, permissionFor } from "./permission.ts";
import { probeFetch, probeSocket } from "./probe.ts";
import { type BrowserRestriction, restrictions } from "./browser-restrictions.ts";

/** A restriction that was found as the cause of a failure. */
export interface Explanation extends BrowserRestriction {
  /** Whether retrying is useless. */
  isFinal: boolean;
  /** Calls the listener when retrying may have become useful. */
  onChange?: (listener: () => void) => void;
}

/** Returns the restriction behind a failure with `code`, if there is one. */
export async function explain(bridgeUrl: string, code: string): Promise<Explanation | undefined> {
  const [page, bridge] = [pageFacts(), bridgeFacts(bridgeUrl)];
  if (code === "OriginNotAllowed") return final(originRestriction(page));
  if (code === "BridgeUrlRefused") return page.https && !bridge.https ? final(restrictions.mixedContent(bridge)) : undefined;
  const { outcome, violation } = await probeSocket(bridge);
  if (violation) return final(restrictions.csp(bridge, violation));
  if (outcome === "thrown" && page.https && !bridge.https) return final(restrictions.mixedContent(bridge));
  if (outcome === "opened") return undefined;
  return (await localNetworkRestriction(page, bridge)) ?? otherServer(bridge);
}

/** Returns the restriction if the browser may be asking its user whether this page may connect. */
export async function pendingPermission(bridgeUrl: string): Promise<BrowserRestriction | undefined> {
  const [page, bridge] = [pageFacts(), bridgeFacts(bridgeUrl)];
  const permission = isLoopback(page.hostname) ? undefined : await permissionFor(bridge);
  return permission?.state === "prompt" ? restrictions.localNetworkPending(bridge) : undefined;
}

function originRestriction({ origin, framed, protocol }: PageEnvironment): BrowserRestriction | undefined {
  if (origin !== "null") return undefined;
  return framed ? restrictions.frameSandbox() : restrictions.noOrigin(protocol);
}

/**
 * Pages of this machine may connect to it, regardless of the permission for others. A user can still forbid it for all
 * pages.
 */
export async function localNetworkRestriction(page: PageEnvironment, bridge: BridgeFacts): Promise<Explanation | undefined> {
  const permission = await permissionFor(bridge);
  if (permission?.state !== "denied") return undefined;
  if (!page.secure) return final(restrictions.localNetworkRefused(bridge, page));
  if (page.framed && allowedByPolicy(permission.name) === false) {
    return isLoopback(page.hostname) ? undefined : final(restrictions.framePolicy(bridge, permission.name));
  }
  const onChange = (listener: () => void) => permission.status.addEventListener("change", listener, { once: true });
  return { ...restrictions.localNetworkDenied(bridge), isFinal: true, onChange };
}

/** Returns the restriction if the web server that answers is not a bridge. */
async function otherServer(bridge: BridgeFacts): Promise<Explanation | undefined> {
  const { status } = await probeFetch(`${bridge.url}/sdk/mcp-web.js`);
  return status === undefined ? undefined : { ...restrictions.notABridge(bridge), isFinal: false };
}

const final = (restriction: BrowserRestriction | undefined): Explanation | undefined =>
  restriction && { ...restriction, isFinal: true };

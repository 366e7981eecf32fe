/** Why there is no connection. */

import { bridgeFacts, isLoopback, pageFacts } from "./addresses.js";
import { allowedByPolicy, permissionFor } from "./permission.js";
import { probeFetch, probeSocket } from "./probe.js";
import { walls } from "./walls.js";

/**
 * The wall behind a failure with `code`, `{ code, message, remedy, final, changed? }`, or nothing when there is none. `final`:
 * trying again does not help. `changed`: a function that calls back when it may help after all.
 */
export async function explain(bridgeUrl, code) {
  const [page, bridge] = [pageFacts(), bridgeFacts(bridgeUrl)];
  if (code === "OriginNotAllowed") return final(ofOrigin(page));
  if (code === "BridgeUrlRefused") return page.https && !bridge.https ? final(walls.mixedContent(bridge)) : undefined;
  const { outcome, violation } = await probeSocket(bridge);
  if (violation) return final(walls.csp(bridge, violation));
  if (outcome === "thrown" && page.https && !bridge.https) return final(walls.mixedContent(bridge));
  if (outcome === "opened") return undefined;
  return (await ofLocalNetwork(page, bridge)) ?? elsewhere(bridge);
}

/** The wall, if the browser may be asking its user whether this page may connect. */
export async function pending(bridgeUrl) {
  const [page, bridge] = [pageFacts(), bridgeFacts(bridgeUrl)];
  const permission = isLoopback(page.hostname) ? undefined : await permissionFor(bridge);
  return permission?.state === "prompt" ? walls.localNetworkPending(bridge) : undefined;
}

function ofOrigin({ origin, framed, protocol }) {
  if (origin !== "null") return undefined;
  return framed ? walls.frameSandbox() : walls.noOrigin(protocol);
}

/** Pages of this machine may connect to it, whatever was decided for others; a user can forbid it to them all the same. */
export async function ofLocalNetwork(page, bridge) {
  const permission = await permissionFor(bridge);
  if (permission?.state !== "denied") return undefined;
  if (!page.secure) return final(walls.localNetworkRefused(bridge, page));
  if (page.framed && allowedByPolicy(permission.name) === false) {
    return isLoopback(page.hostname) ? undefined : final(walls.framePolicy(bridge, permission.name));
  }
  const changed = (listener) => permission.status.addEventListener("change", listener, { once: true });
  return { ...walls.localNetworkDenied(bridge), final: true, changed };
}

/** A web server without a bridge behind it. */
async function elsewhere(bridge) {
  const { status } = await probeFetch(`${bridge.url}/sdk/mcp-web.js`);
  return status === undefined ? undefined : { ...walls.notABridge(bridge), final: false };
}

const final = (wall) => wall && { ...wall, final: true };

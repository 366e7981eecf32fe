/** Checks whether there is a bridge, its version, and whether it accepts this page. */

import { failed, failedBy, passed, unknown } from "./check.ts";
import type { DiagnosisCheck } from "../types/status.ts";
import type { BridgeFacts, PageEnvironment } from "./addresses.ts";
import { type FetchResult, type PolicyViolation, type SocketResult, probeFetch, probeSocket } from "./probe.ts";
import type { DiagnosisFacts } from "./diagnosis-facts.ts";
import { restrictions } from "./browser-restrictions.ts";

/** Public on every bridge. */
const PUBLIC = "/sdk/mcp-web.js";

export async function bridgeChecks(page: PageEnvironment, bridge: BridgeFacts, { status }: DiagnosisFacts): Promise<DiagnosisCheck[]> {
  const [file, health, socket] = await Promise.all([
    probeFetch(bridge.url + PUBLIC),
    probeFetch(`${bridge.url}/healthz`),
    status.state === "connected" ? ({ outcome: "opened" } as SocketResult) : probeSocket(bridge),
  ]);
  const violation = socket.violation ?? health.violation ?? file.violation;
  return [
    policy(bridge, violation, socket),
    reachable(bridge, file, socket),
    originAllowed(page, bridge, file, health),
    await version(bridge, health),
    opens(bridge, socket),
  ];
}

function policy(bridge: BridgeFacts, violation: PolicyViolation | undefined, { outcome }: SocketResult) {
  const name = "content security policy";
  if (!violation) return passed(name, "nothing was blocked");
  // A policy may allow only the socket, which is all that a page needs.
  if (outcome === "opened") return passed(name, "lets the WebSocket through, not the requests of this diagnosis");
  return failedBy(name, restrictions.csp(bridge, violation));
}

function reachable({ url }: BridgeFacts, { status, violation }: FetchResult, { outcome }: SocketResult) {
  const name = "bridge";
  if (status === 200) return passed(name, `answers at ${url}`);
  if (outcome === "opened") return passed(name, `a WebSocket opens at ${url}`);
  if (status !== undefined) {
    return failed(name, `${url}${PUBLIC} answers HTTP ${status}`, "set bridgeUrl to a bridge, which has its SDK there");
  }
  if (violation) return unknown(name, "the page's policy forbids to look");
  return failed(name, `BridgeUnreachable: nothing that can be reached from here answers at ${url}`, "start the bridge, or set bridgeUrl");
}

/** A bridge hides its answer from pages of foreign origins, but its SDK is public. */
function originAllowed({ origin }: PageEnvironment, { url }: BridgeFacts, file: FetchResult, health: FetchResult) {
  const name = "origin at the bridge";
  if (health.status === 200) return passed(name, `${url} takes pages of ${origin}`);
  if (file.status !== 200) return unknown(name, "the bridge cannot be asked");
  return failed(
    name,
    `OriginNotAllowed: ${url} does not take pages of ${origin}`,
    `start it with --allowed-origins loopback,${origin}`,
  );
}

async function version({ url }: BridgeFacts, health: FetchResult) {
  const name = "bridge's version";
  const { response }: FetchResult = health.status === 200 ? await probeFetch(`${url}/`) : {};
  const about = await response?.json().catch(() => undefined);
  return about?.version ? passed(name, `${about.name} ${about.version}`) : unknown(name, "not reported");
}

function opens({ url }: BridgeFacts, { outcome, error, violation }: SocketResult) {
  const name = "websocket";
  const remedy = "see the checks above";
  switch (outcome) {
    case "opened":
      return passed(name, "opens");
    case "pending":
      return failed(name, `neither opens nor fails at ${url}`, "look for a prompt of the browser, or a firewall");
    case "thrown":
      return failed(name, `it cannot be tried: ${(error as Error).message}`, remedy);
    default:
      return failed(name, violation ? "the page's policy blocks it" : `fails at ${url}`, remedy);
  }
}

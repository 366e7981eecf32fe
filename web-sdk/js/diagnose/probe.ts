/** Tries a socket and a request, to find out how the browser treats them. */

import type { BridgeFacts } from "./addresses.ts";

/** A violation of the page's Content-Security-Policy. */
export interface PolicyViolation {
  directive: string;
  policy: string;
}

/** The outcome of a socket to the bridge. */
export interface SocketResult {
  outcome: "opened" | "failed" | "pending" | "thrown";
  error?: unknown;
  violation?: PolicyViolation;
}

/** The outcome of a request. */
export interface FetchResult {
  status?: number;
  response?: Response;
  error?: unknown;
  violation?: PolicyViolation;
}

/** Longer than any bridge needs to answer, and as long as a user is willing to wait. */
const PROBE_TIMEOUT_MS = 3_000;

/** The event about a violation of the policy comes in a separate task, after the failure. */
const VIOLATION_TIMEOUT_MS = 200;

/**
 * Opens a socket to the bridge, and returns its outcome. The socket is closed as soon as it opens, before the bridge treats
 * it as a page.
 */
export async function probeSocket(bridge: BridgeFacts): Promise<SocketResult> {
  const url = new URL(`${bridge.url}/ws?session=diagnosis`);
  url.protocol = url.protocol.replace("http", "ws");
  return withViolations(() => socketOutcome(url.href), url);
}

/** Requests `url`, and returns the outcome. */
export async function probeFetch(url: string): Promise<FetchResult> {
  return withViolations(async (): Promise<FetchResult> => {
    try {
      const response = await fetch(url, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
      return { status: response.status, response };
    } catch (error) {
      return { error };
    }
  }, new URL(url));
}

function socketOutcome(url: string): Promise<SocketResult> {
  return new Promise((resolve) => {
    let socket: WebSocket;
    try {
      socket = new WebSocket(url);
    } catch (error) {
      return resolve({ outcome: "thrown", error });
    }
    const done = (outcome: SocketResult["outcome"]) => {
      clearTimeout(timer);
      socket.onopen = socket.onerror = socket.onclose = null;
      socket.close();
      resolve({ outcome });
    };
    const timer = setTimeout(done, PROBE_TIMEOUT_MS, "pending");
    socket.onopen = () => done("opened");
    // A blocked socket may not fire `close`.
    socket.onerror = socket.onclose = () => done("failed");
  });
}

/** Runs a probe of `target`, and adds the violation of the page's policy that it caused. */
async function withViolations<Result extends SocketResult | FetchResult>(probe: () => Promise<Result>, target: URL): Promise<Result> {
  let onViolation: (violation: PolicyViolation) => void;
  const firstViolation = new Promise<PolicyViolation>((resolve) => (onViolation = resolve));
  const listener = ({ disposition, effectiveDirective, blockedURI, originalPolicy }: SecurityPolicyViolationEvent) => {
    if (disposition === "report" || !isSameHost(blockedURI, target)) return;
    onViolation({ directive: effectiveDirective, policy: originalPolicy });
  };
  globalThis.addEventListener?.("securitypolicyviolation" as "error", listener as unknown as (event: ErrorEvent) => void);
  try {
    const result = await probe();
    if (!("error" in result) && (result as SocketResult).outcome !== "failed") return result;
    const nothing = new Promise<undefined>((resolve) => setTimeout(resolve, VIOLATION_TIMEOUT_MS));
    const violation = await Promise.race([firstViolation, nothing]);
    return { ...result, ...(violation && { violation }) };
  } finally {
    globalThis.removeEventListener?.("securitypolicyviolation" as "error", listener as unknown as (event: ErrorEvent) => void);
  }
}

function isSameHost(blocked: string, target: URL): boolean {
  try {
    return new URL(blocked).host === target.host;
  } catch {
    return false;
  }
}

/** Trying it: a socket and a request of one's own, to see what the browser makes of them. */

/** Longer than any bridge needs to answer, and than a user wants to wait. */
const PROBE_WITHIN_MS = 3_000;

/** A document is told of what its policy blocked in a task of its own, after the failure. */
const VIOLATION_WITHIN_MS = 200;

/**
 * How a socket to the bridge ends: `{ outcome: "opened" | "failed" | "pending" | "thrown", error?, violation? }`. It is
 * closed as soon as it opens, before it is a page to the bridge.
 */
export async function probeSocket(bridge) {
  const url = new URL(`${bridge.url}/ws?session=diagnosis`);
  url.protocol = url.protocol.replace("http", "ws");
  return withViolations(() => socketOutcome(url.href), url);
}

/** What a request to `url` comes to: `{ status }`, or `{ error, violation? }`. */
export async function probeFetch(url) {
  return withViolations(async () => {
    try {
      const response = await fetch(url, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(PROBE_WITHIN_MS) });
      return { status: response.status, response };
    } catch (error) {
      return { error };
    }
  }, new URL(url));
}

function socketOutcome(url) {
  return new Promise((resolve) => {
    let socket;
    try {
      socket = new WebSocket(url);
    } catch (error) {
      return resolve({ outcome: "thrown", error });
    }
    const done = (outcome) => {
      clearTimeout(timer);
      socket.onopen = socket.onerror = socket.onclose = null;
      socket.close();
      resolve({ outcome });
    };
    const timer = setTimeout(done, PROBE_WITHIN_MS, "pending");
    socket.onopen = () => done("opened");
    // A blocked socket may fire no `close`.
    socket.onerror = socket.onclose = () => done("failed");
  });
}

/** Runs a probe of `target` and adds what the page's policy said to it. */
async function withViolations(probe, target) {
  let heard;
  const told = new Promise((resolve) => (heard = resolve));
  const listener = ({ disposition, effectiveDirective, blockedURI, originalPolicy }) => {
    if (disposition !== "report" && sameHost(blockedURI, target)) heard({ directive: effectiveDirective, policy: originalPolicy });
  };
  globalThis.addEventListener?.("securitypolicyviolation", listener);
  try {
    const result = await probe();
    if (!("error" in result) && result.outcome !== "failed") return result;
    const nothing = new Promise((resolve) => setTimeout(resolve, VIOLATION_WITHIN_MS));
    const violation = await Promise.race([told, nothing]);
    return { ...result, ...(violation && { violation }) };
  } finally {
    globalThis.removeEventListener?.("securitypolicyviolation", listener);
  }
}

function sameHost(blocked, target) {
  try {
    return new URL(blocked).host === target.host;
  } catch {
    return false;
  }
}

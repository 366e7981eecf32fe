/** Finds out whether a certificate is the reason why no socket opens: the sockets of Node do not report it. */

/** How long the server may take to answer. */
const PROBE_TIMEOUT_MS = 3_000;

/** The codes of Node for certificates, such as `DEPTH_ZERO_SELF_SIGNED_CERT` and `UNABLE_TO_VERIFY_LEAF_SIGNATURE`. */
const CERTIFICATE_CODES = /CERT|SIGNATURE/;

/** Returns what is wrong with the certificate of a bridge, and what to do; `undefined` if it is accepted, or not the reason. */
export async function certificateProblem(bridgeUrl: string): Promise<string | undefined> {
  const url = bridgeUrl.replace(/^ws/, "http");
  if (!url.startsWith("https:")) return undefined;
  try {
    const response = await fetch(`${url}/healthz`, { redirect: "manual", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.body?.cancel();
    return undefined;
  } catch (error) {
    const { cause, code = cause?.code } = error as { code?: unknown; cause?: { code?: unknown } };
    if (typeof code !== "string" || !CERTIFICATE_CODES.test(code)) return undefined;
    return `the certificate of the bridge at ${url} is not accepted (${code}): ${remedy(code)}`;
  }
}

function remedy(code: string): string {
  switch (code) {
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "it is for another host, so set bridgeUrl to the name that it is for";
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return "it is not valid at this time, so check the clock, or ask the operator to renew it";
    default:
      return "set NODE_EXTRA_CA_CERTS to the PEM file of the authority that signed it, and start this process again";
  }
}

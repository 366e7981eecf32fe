/** Local Network Access: from a public page, browsers ask the user before they connect to this machine or its network. */

/** Older versions of Chromium have one permission for both. */
const OLDER = "local-network-access";

/**
 * The permission that a connection to the bridge needs, `{ name, state, status }`. Nothing where the browser knows no
 * such permission, or needs none for this address.
 */
export async function permissionFor(bridge) {
  const name = bridge.loopback ? "loopback-network" : bridge.local ? "local-network" : undefined;
  if (!name) return undefined;
  return (await asked(name)) ?? (await asked(OLDER));
}

async function asked(name) {
  try {
    const status = await navigator.permissions.query({ name });
    return { name, status, state: status.state };
  } catch {
    return undefined;
  }
}

/** Whether the document's permissions policy lets it use the permission; nothing where the browser does not say. */
export function allowedByPolicy(name) {
  const policy = globalThis.document?.permissionsPolicy ?? globalThis.document?.featurePolicy;
  if (!policy?.features().includes(name)) return undefined;
  return policy.allowsFeature(name);
}

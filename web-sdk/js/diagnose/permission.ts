/** Local Network Access: from a public page, browsers ask the user before they connect to this machine or its network. */

import { read } from "../dom/native.ts";
import type { BridgeFacts } from "./addresses.ts";

/** A permission of the browser. */
export interface Permission {
  name: string;
  state: PermissionState;
  status: PermissionStatus;
}

/** Older versions of Chromium have one permission for both. */
const OLDER_NAME = "local-network-access";

/**
 * Returns the permission that a connection to the bridge needs. There is none if the browser does not know such a
 * permission, or does not require it for this address.
 */
export async function permissionFor(bridge: BridgeFacts): Promise<Permission | undefined> {
  const name = bridge.loopback ? "loopback-network" : bridge.local ? "local-network" : undefined;
  if (!name) return undefined;
  return (await queryPermission(name)) ?? (await queryPermission(OLDER_NAME));
}

async function queryPermission(name: string): Promise<Permission | undefined> {
  try {
    const status = await navigator.permissions.query({ name: name as PermissionName });
    return { name, status, state: status.state };
  } catch {
    return undefined;
  }
}

/** The permissions policy of a document, which also has an older name. TypeScript knows neither. */
interface PermissionsPolicy {
  features(): string[];
  allowsFeature(name: string): boolean;
}

interface PolicyDocument extends Document {
  permissionsPolicy?: PermissionsPolicy;
  featurePolicy?: PermissionsPolicy;
}

/** Returns whether the document's permissions policy allows the permission, if the browser reports that. */
export function allowedByPolicy(name: string): boolean | undefined {
  const document = globalThis.document as PolicyDocument | undefined;
  const policy = document && (read(document, "permissionsPolicy") ?? read(document, "featurePolicy"));
  if (!policy?.features().includes(name)) return undefined;
  return policy.allowsFeature(name);
}

/** The user of a call. */

import type { AppUser } from "../engine/app.ts";

/** The facts about a caller that the bridge has verified. */
interface Caller {
  sub?: string | undefined;
  roles: readonly string[];
}

/**
 * Returns the user of a call. A signed token has its own roles, even if there are none. An opaque token identifies no user,
 * and has the roles that the operator gave the host.
 */
export function userOf({ sub, roles }: Caller, hostRoles: readonly string[]): AppUser {
  return sub === undefined ? { roles: hostRoles } : { sub, roles };
}

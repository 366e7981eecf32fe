/** Determines whether a session is active, expired or gone. */

/** Decides by the age of a session since its last save. */
export function phaseAt(now: number, updatedAt: number, expiryMs: number): "active" | "expired" | "gone" {
  const age = now - updatedAt;
  if (age < expiryMs) return "active";
  return age < 2 * expiryMs ? "expired" : "gone";
}

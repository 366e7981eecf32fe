/** When a session is active, expired and gone. */

/** The age of a session decides, counted from its last save. */
export function phaseAt(now: number, updatedAt: number, expiryMs: number): "active" | "expired" | "gone" {
  const age = now - updatedAt;
  if (age < expiryMs) return "active";
  return age < 2 * expiryMs ? "expired" : "gone";
}

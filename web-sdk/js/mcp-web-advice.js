/** What AI clients will make of a definition, for whoever develops the app. */

export function adviceOn() {
  return [];
}

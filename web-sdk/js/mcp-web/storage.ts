/** The browser's storage, where it may be used. */

/** Returns the storage. Merely looking at it throws where the user or a sandbox forbids it. */
export function openStorage(name: "local" | "session" | "none"): Storage | undefined {
  try {
    return name === "none" ? undefined : globalThis[`${name}Storage`];
  } catch {
    return undefined;
  }
}

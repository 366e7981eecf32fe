/** The browser's storage, if it may be used. */

/** Returns the storage. Accessing it throws if the user or a sandbox forbids it. */
export function openStorage(name: "local" | "session" | "none"): Storage | undefined {
  try {
    return name === "none" ? undefined : globalThis[`${name}Storage`];
  } catch {
    return undefined;
  }
}

/** The browser's storage, where it may be used. */

/** Merely looking at the storage throws where the user or a sandbox forbids it. */
export function storageNamed(storage) {
  try {
    return storage === "none" ? undefined : globalThis[`${storage}Storage`];
  } catch {
    return undefined;
  }
}

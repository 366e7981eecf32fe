/** Which resources clients are subscribed to. */

/** Tells each resource in `entries` whose state changed. `uris`: all that clients are subscribed to. */
export function tellSubscribed(entries, uris) {
  for (const entry of entries) {
    if (entry.kind !== "resource" || entry.subscribed === uris.has(entry.id)) continue;
    entry.subscribed = !entry.subscribed;
    const { onSubscribe, onUnsubscribe } = entry.definition;
    try {
      entry.subscribed ? onSubscribe?.call(entry.definition) : onUnsubscribe?.call(entry.definition);
    } catch (error) {
      globalThis.reportError ? reportError(error) : console.error(error);
    }
  }
}

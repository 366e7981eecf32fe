/** The resources that clients are subscribed to. */

import { reportException } from "./listeners.ts";
import type { Registration } from "./registration.ts";

/** Notifies each resource whose state has changed. `uris` contains all resources that clients are subscribed to. */
export function notifySubscribed(registrations: Iterable<Registration>, uris: ReadonlySet<string>): void {
  for (const registration of registrations) {
    if (registration.kind !== "resource" || registration.subscribed === uris.has(registration.id)) continue;
    registration.subscribed = !registration.subscribed;
    const { definition } = registration;
    const { onSubscribe, onUnsubscribe } = definition;
    try {
      (registration.subscribed ? onSubscribe : onUnsubscribe)?.call(definition);
    } catch (error) {
      reportException(error);
    }
  }
}

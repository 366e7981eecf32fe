/** Listeners of the app. */

/** A listener of the app. It is a separate object, so that the same function can be added twice. */
export interface ListenerEntry<Event> {
  listener: (event: Event) => void;
}

/** Adds a listener, and returns the function that removes it. `method` names the caller in errors. */
export function subscribe<Event>(
  subscriptions: Set<ListenerEntry<Event>>,
  listener: (event: Event) => void,
  method: string,
): () => void {
  if (typeof listener !== "function") throw new TypeError(`${method}() needs a function`);
  const subscription = { listener };
  subscriptions.add(subscription);
  return () => void subscriptions.delete(subscription);
}

/** Calls all listeners. An exception in one affects neither the others nor the connection. */
export function notify<Event>(subscriptions: Set<ListenerEntry<Event>>, event: Event): void {
  for (const { listener } of [...subscriptions]) {
    try {
      listener(event);
    } catch (error) {
      reportException(error);
    }
  }
}

/** Reports an exception of an app's function, as the browser reports uncaught ones. */
export function reportException(error: unknown): void {
  (globalThis.reportError ?? console.error)(error);
}

/** Telling the app what happens. */

export function subscribe(listeners, listener, method) {
  if (typeof listener !== "function") throw new TypeError(`${method}() needs a function`);
  const subscription = { listener };
  listeners.add(subscription);
  return () => void listeners.delete(subscription);
}

/** A listener that throws spoils neither the others nor the connection. */
export function notify(listeners, event) {
  for (const { listener } of [...listeners]) {
    try {
      listener(event);
    } catch (error) {
      globalThis.reportError ? reportError(error) : console.error(error);
    }
  }
}

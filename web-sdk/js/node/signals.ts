/** Ends the connections of a process before a signal ends the process. */

import process from "node:process";

/** A connection that can be ended. */
export interface Leaving {
  /** Ends the connection. Fulfilled once the bridge has been notified. */
  leave(): Promise<void>;
}

const SIGNALS = ["SIGINT", "SIGTERM"];
/** Maximum delay of the process's end by a bridge that does not answer. */
const MAX_LEAVE_MS = 1_000;

const connections = new Set<Leaving>();

/** Ends the connection when a signal arrives, until the returned function is called. */
export function leaveOnSignals(connection: Leaving): () => void {
  if (!connections.size) for (const signal of SIGNALS) process.prependListener(signal, listeners[signal]!);
  connections.add(connection);
  return () => {
    if (connections.delete(connection) && !connections.size) stopListening();
  };
}

function stopListening(): void {
  for (const signal of SIGNALS) process.off(signal, listeners[signal]!);
}

async function onSignal(signal: string): Promise<void> {
  // This listener runs first, so that one-time listeners are also counted.
  const isAlone = process.listenerCount(signal) === 1;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_LEAVE_MS);
  });
  // A connection that fails to leave ends with the process.
  await Promise.race([timeout, Promise.allSettled([...connections].map((connection) => connection.leave()))]);
  clearTimeout(timer);
  connections.clear();
  stopListening();
  if (isAlone) process.kill(process.pid, signal);
}

const listeners = Object.fromEntries(SIGNALS.map((signal) => [signal, () => void onSignal(signal)]));

/** Lets the connections of a process end before a signal ends it. */

import process from "node:process";

/** A connection that can be ended. */
export interface Leaving {
  /** Ends the connection. Fulfilled once the bridge has heard of it. */
  leave(): Promise<void>;
}

const SIGNALS = ["SIGINT", "SIGTERM"];
/** A bridge that does not answer does not keep the process. */
const MAX_LEAVE_MS = 1_000;

const connections = new Set<Leaving>();

/** Ends the connection when a signal comes, until the returned function is called. */
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
  // This listener comes first, so that those are counted that listen once.
  const isAlone = process.listenerCount(signal) === 1;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_LEAVE_MS);
  });
  // What fails to leave is ended with the process.
  await Promise.race([timeout, Promise.allSettled([...connections].map((connection) => connection.leave()))]);
  clearTimeout(timer);
  connections.clear();
  stopListening();
  if (isAlone) process.kill(process.pid, signal);
}

const listeners = Object.fromEntries(SIGNALS.map((signal) => [signal, () => void onSignal(signal)]));

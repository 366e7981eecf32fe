/** The state of the connection, for frameworks that compare snapshots. */

import type { McpWeb } from "../mcp-web.ts";
import type { ConnectedClient, Status } from "../types/status.ts";

/** The state of the connection for a component. A new object for each change. */
export interface PageSnapshot {
  /** Like {@link McpWeb.status}. */
  readonly status: Status;
  /** Like {@link McpWeb.clients}. */
  readonly clients: readonly ConnectedClient[];
}

/** The snapshot of a server, and of a browser until hydration. */
export const SERVER_SNAPSHOT: PageSnapshot = Object.freeze({ status: Object.freeze({ state: "idle" }), clients: Object.freeze([]) });

/** A store that frameworks subscribe to. */
export interface Store<Snapshot> {
  subscribe(changed: () => void): () => void;
  snapshot(): Snapshot;
}

const stores = new WeakMap<McpWeb, Store<PageSnapshot>>();

/** Returns the store of the page, always the same. */
export function pageStore(mcpWeb: McpWeb): Store<PageSnapshot> {
  let store = stores.get(mcpWeb);
  if (!store) stores.set(mcpWeb, (store = createPageStore(mcpWeb)));
  return store;
}

function createPageStore(mcpWeb: McpWeb): Store<PageSnapshot> {
  let latest: PageSnapshot = SERVER_SNAPSHOT;
  return {
    subscribe(changed) {
      const unsubscribe = [mcpWeb.onStatusChange(changed), mcpWeb.onClientsChange(changed)];
      return () => unsubscribe.forEach((end) => end());
    },
    snapshot() {
      const { status, clients } = mcpWeb;
      if (latest.status !== status || latest.clients !== clients) latest = Object.freeze({ status, clients });
      return latest;
    },
  };
}

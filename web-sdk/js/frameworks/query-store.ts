/** The queries of a component, one at a time, with their state for the component. */

import type { McpWeb } from "../mcp-web.ts";
import type { McpWebError } from "../mcp-web/error.ts";
import type { Query, QueryEvent, QueryOptions, QueryResult } from "../types/query.ts";
import type { Store } from "./page-store.ts";

/** The state of a component's latest query. A new object for each change. */
export interface QuerySnapshot<Arguments extends object = any> {
  /** `idle` before the first query, then {@link Query.state}. */
  readonly state: "idle" | Query["state"];
  /** The answer so far: all pieces of `text`. */
  readonly text: string;
  /** The progress that the agent has reported, the newest last; at most the latest 1,000 events. */
  readonly events: readonly QueryEvent[];
  /** The answer, once the query is complete. */
  readonly result: QueryResult<Arguments> | undefined;
  /** Why the query has failed; `undefined` if it was cancelled. */
  readonly error: McpWebError | undefined;
}

/** The operations of a component on queries. The functions stay the same. */
export interface QueryActions<Arguments extends object = any> {
  /** Sends a query, and cancels the previous one. Returns the query, like {@link McpWeb.query}. */
  ask(options: QueryOptions): Query<Arguments>;
  /** Cancels the latest query. */
  cancel(reason?: string): void;
}

/** Maximum number of events shown. */
const MAX_EVENTS = 1_000;

export const NO_QUERY: QuerySnapshot = Object.freeze({
  state: "idle",
  text: "",
  events: Object.freeze([]),
  result: undefined,
  error: undefined,
});

export class QueryStore implements Store<QuerySnapshot>, QueryActions {
  /** The page that sends the queries. The component may get another one. */
  mcpWeb: McpWeb;
  #query: Query | undefined;
  #snapshot: QuerySnapshot = NO_QUERY;
  readonly #listeners = new Set<() => void>();
  #isReleased = false;

  constructor(mcpWeb: McpWeb) {
    this.mcpWeb = mcpWeb;
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  };

  snapshot = (): QuerySnapshot => this.#snapshot;

  ask = (options: QueryOptions): Query => {
    this.cancel("the page asks something else");
    const query = this.mcpWeb.query(options);
    this.#query = query;
    this.#snapshot = NO_QUERY;
    this.#change(query, { state: query.state });
    this.#follow(query);
    return query;
  };

  cancel = (reason?: string): void => {
    this.#query?.cancel(reason);
  };

  /** Mounts the component, possibly again. */
  retain(): void {
    this.#isReleased = false;
  }

  /** Unmounts the component. At the end of the task, its query is cancelled unless the component is mounted again. */
  release(): void {
    this.#isReleased = true;
    queueMicrotask(() => {
      if (this.#isReleased) this.cancel("the component that asked is gone");
    });
  }

  async #follow(query: Query): Promise<void> {
    try {
      for await (const event of query) {
        const { text, events } = this.#snapshot;
        this.#change(query, {
          state: query.state,
          text: event.type === "text" ? text + event.text : text,
          events: Object.freeze([...events, event].slice(-MAX_EVENTS)),
        });
      }
      this.#change(query, { state: "complete", result: await query.result });
    } catch (error) {
      const { state } = query;
      this.#change(query, { state, error: state === "cancelled" ? undefined : (error as McpWebError) });
    }
  }

  #change(query: Query, changes: Partial<QuerySnapshot>): void {
    if (this.#query !== query) return;
    this.#snapshot = Object.freeze({ ...this.#snapshot, ...changes });
    for (const changed of [...this.#listeners]) changed();
  }
}

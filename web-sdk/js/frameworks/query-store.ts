/** One query of a component after the other, with what a component shows of it. */

import type { McpWeb } from "../mcp-web.ts";
import type { McpWebError } from "../mcp-web/error.ts";
import type { Query, QueryEvent, QueryOptions, QueryResult } from "../types/query.ts";
import type { Store } from "./page-store.ts";

/** What a component shows of its latest query. A new object for each change. */
export interface QuerySnapshot<Arguments extends object = any> {
  /** `idle` until something is asked, then {@link Query.state}. */
  readonly state: "idle" | Query["state"];
  /** The answer so far: all pieces of `text`. */
  readonly text: string;
  /** What the agent has told of its progress, the newest last; at most the latest 1,000. */
  readonly events: readonly QueryEvent[];
  /** The answer, once the query is complete. */
  readonly result: QueryResult<Arguments> | undefined;
  /** Why the query has failed; `undefined` for one that was cancelled. */
  readonly error: McpWebError | undefined;
}

/** What a component does with queries. The functions stay the same. */
export interface QueryActions<Arguments extends object = any> {
  /** Asks, and cancels what was asked before. Returns the query, as {@link McpWeb.query}. */
  ask(options: QueryOptions): Query<Arguments>;
  /** Cancels the latest query. */
  cancel(reason?: string): void;
}

/** More events than this are no longer shown. */
const MAX_EVENTS = 1_000;

export const NO_QUERY: QuerySnapshot = Object.freeze({
  state: "idle",
  text: "",
  events: Object.freeze([]),
  result: undefined,
  error: undefined,
});

export class QueryStore implements Store<QuerySnapshot>, QueryActions {
  /** The page that is asked. The component may get another one. */
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

  /** The component is mounted, perhaps again. */
  retain(): void {
    this.#isReleased = false;
  }

  /** The component is unmounted: at the end of the task, its query is cancelled unless the component is mounted again. */
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

/** The queries and conversations of a page. The module that runs them (`mcp-web-query.js`) is loaded with the first one. */

import type { Queries } from "../mcp-web-query.ts";
import type { Conversations } from "../query/conversations.ts";
import type { Conversation, ConversationOptions } from "../types/conversation.ts";
import type { AttachOptions, Query, QueryOptions, QuerySignal } from "../types/query.ts";
import { REFUSE_QUERY, queryRefusal } from "../person/refuse-query.ts";
import type { McpWebOptions } from "../types/options.ts";
import { canConnect } from "./environment.ts";
import { McpWebError, notInBrowser } from "./error.ts";
import { toJson } from "./json.ts";
import { loadModule } from "./lazy.ts";
import { PageQuery, randomUuid } from "./query.ts";

export class PageQueries {
  /** The queries of the page, once there has been one. */
  loaded: Queries | undefined;
  readonly #create: (constructor: typeof Queries) => Queries;

  readonly #approvals: () => McpWebOptions["approvals"];

  /** `create` creates the object with the loaded class. */
  constructor(create: (constructor: typeof Queries) => Queries, approvals: () => McpWebOptions["approvals"]) {
    this.#create = create;
    this.#approvals = approvals;
  }

  query(options: QueryOptions, signal?: QuerySignal): Query {
    const uuid = randomUuid();
    const refusal = this.#approvals() !== "app" && ((options as any)?.[REFUSE_QUERY] ?? queryRefusal());
    return new PageQuery(uuid, this.#load(options, refusal), (queries, json) => queries.start(uuid, options, json!, signal));
  }

  attach(uuid: string, options?: AttachOptions): Query {
    return new PageQuery(uuid, this.#load(), (queries, _json) => queries.attach(uuid, options));
  }

  conversation({ id = randomUuid() }: ConversationOptions = {}): Conversation {
    return {
      id,
      query: (options: QueryOptions, signal?: QuerySignal) => this.query({ ...options, conversation: id }, signal),
      history: () => this.stored("history", id),
      clear: () => this.stored("clear", id),
    };
  }

  /** Runs an operation on the conversations that the agent stores. */
  async stored(key: keyof Conversations, id = ""): Promise<any> {
    return (await this.#load())[0].conversations[key](id);
  }

  /** Returns the inputs of a query. The app may change its options later, so the query is sent with the current ones. */
  async #load(options?: QueryOptions, refusal?: string | false): Promise<[Queries, string | undefined]> {
    if (refusal) throw new McpWebError("PersonRequired", refusal);
    // These may not be JSON. They are read as the app has passed them.
    const plain = { ...options, responseSchema: null, attachments: null };
    const json = toJson(plain, "the query", (message) => new McpWebError("QueryInvalid", message), (_, value) => value ?? null);
    if (!canConnect) throw notInBrowser("a query");
    if (!this.loaded) {
      const { Queries } = await loadModule(import("../mcp-web-query.ts"), "query", "Query");
      this.loaded ??= this.#create(Queries);
    }
    return [this.loaded, json];
  }
}

/** The outcomes of queries, as the app sees them. */

import type { QueryResult, QueryToolCall, QueryUsage } from "../types/query.ts";
import type { McpWebErrorConstructor } from "../mcp-web/error.ts";
import type { QueryMessage } from "./messages.ts";

/** The tool whose call is the answer. For a query of another document, it is unknown here. */
type KnownRequest = { responseTool?: { name: string } | undefined; responseSchema?: object };

const isObject = (value: unknown) => typeof value === "object" && value !== null;

/** Returns the answer in a `query_complete` message. */
export function parseQueryResult(message: QueryMessage, request: KnownRequest | undefined): QueryResult {
  const { toolCalls = [], usage } = message;
  const more = { toolCalls: toolCalls as QueryToolCall[], ...(isObject(usage) && { usage: usage as unknown as QueryUsage }) };
  return { ...parseAnswer(message.result, more.toolCalls, request), ...more };
}

function parseAnswer(result: unknown, calls: QueryToolCall[], request: KnownRequest | undefined): Partial<QueryResult> {
  if (request?.responseSchema) return { value: result };
  if (typeof result === "string") return { text: result };
  if (result !== undefined) return { value: result };
  const name = request?.responseTool?.name;
  // Without a request, the last call of the page's tools has ended the query. Calls of the agent's own tools come after
  // them.
  const last = calls.filter(({ tool, source }) => source === undefined && (!request || tool === name)).at(-1);
  return last ? { response: { arguments: last.arguments, result: last.result } } : {};
}

/** Returns the error in a `query_failure` message. */
export function parseQueryFailure({ error, reason, code }: QueryMessage, McpWebError: McpWebErrorConstructor) {
  const failure = new McpWebError(code as string, (reason ? `${error}: ${reason}` : error) as string);
  return Object.assign(failure, reason ? { remedy: reason } : undefined);
}

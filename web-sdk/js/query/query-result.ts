/** How queries end, as the app sees it. */

import type { QueryResult, QueryToolCall } from "../types/query.ts";
import type { McpWebErrorConstructor } from "../mcp-web/error.ts";
import type { QueryMessage } from "./messages.ts";

/** The tool whose call is the answer. Of a query of another document, nobody here knows which it is. */
type KnownRequest = { responseTool?: { name: string } | undefined };

/** Returns the answer in a `query_complete` message. */
export function parseQueryResult({ result, toolCalls = [] }: QueryMessage, request: KnownRequest | undefined): QueryResult {
  const calls = toolCalls as QueryToolCall[];
  if (typeof result === "string") return { text: result, toolCalls: calls };
  if (result !== undefined && result !== null) return { value: result, toolCalls: calls };
  const name = request?.responseTool?.name;
  // Without a request, the last call has ended the query.
  const last = calls.filter(({ tool }) => !request || tool === name).at(-1);
  return last ? { response: { arguments: last.arguments, result: last.result }, toolCalls: calls } : { toolCalls: calls };
}

/** Returns the error in a `query_failure` message. */
export function parseQueryFailure({ error, reason, code }: QueryMessage, McpWebError: McpWebErrorConstructor) {
  const failure = new McpWebError(code as string, (reason ? `${error}: ${reason}` : error) as string);
  return Object.assign(failure, reason ? { remedy: reason } : undefined);
}

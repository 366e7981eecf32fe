/** Types that the files about queries share: the bridge's messages, and the part of the page that queries use. */

import type { McpWebError, McpWebErrorConstructor } from "../mcp-web/error.ts";
import type { CoreConnection } from "../mcp-web/core.ts";
import type { ElicitAnswer } from "../types/calls.ts";
import type { PageDialogRequest } from "../dialog/request.ts";
import type { McpWebErrorCode } from "../types/error-codes.ts";
import type { McpWebOptions } from "../types/options.ts";

/** A message of the bridge about a query. Its fields depend on its type. */
export type QueryMessage = { type: string; uuid: string; [field: string]: unknown };

/** Browsers fire a longer timer immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A tool of the page. */
export interface PageTool {
  kind: string;
  id: string;
  json: string;
  definition: { [field: string]: any };
}

/** The result of a tool's handler, as JSON texts. */
export interface ToolOutcome {
  result?: string | undefined;
  content?: string | undefined;
  structuredContent?: string | undefined;
  message?: string;
}

/** The part of the page that queries use. */
export interface QueriesPort {
  McpWebError: McpWebErrorConstructor;
  /** Returns the value as transformed by the schema's library. */
  parseWith(schema: unknown, value: unknown, code: McpWebErrorCode, subject: string): Promise<unknown>;
  toolResult(value: unknown, limit: { maxEdge: undefined; load: never }): Promise<ToolOutcome>;
  /** Returns all current definitions of the page. */
  tools(): PageTool[];
  /** Returns the wasm connection. */
  connection(): Pick<CoreConnection, "query">;
  /** Returns how approvals are requested. */
  approvals(): McpWebOptions["approvals"];
  /** Returns the maximum size of a message that the bridge accepts, once it is known. */
  maxBytes(): number | undefined;
  elicitInPage(): McpWebOptions["elicitInPage"];
  /** Returns the JSON Schema of a schema, if it has one. */
  jsonSchema(schema: unknown, side: "input" | "output"): unknown;
  importImages(): Promise<typeof import("../mcp-web-images.ts")>;
  dialog(request: PageDialogRequest, signal: AbortSignal): Promise<ElicitAnswer<object>>;
}

/** Creates an error with a remedy. */
export type CreateError = (code: McpWebErrorCode, what: string, remedy: string, options?: ErrorOptions) => McpWebError;

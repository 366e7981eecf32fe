/** `POST /tool-call` of the bridge: a call of a tool by a program without MCP. */

/** The body of the request. */
export interface ToolCallRequest {
  /** The name of the tool. */
  toolName: string;
  /** The arguments of the tool. */
  toolInput?: object;
  /** The session of the page to call, if several have the tool. */
  sessionId?: string;
}

/** The response: the result of the tool in the format of MCP's `CallToolResult`. */
export interface ToolCallResponse {
  /** The content for the model and the person: blocks of MCP. */
  content: { type: string; [member: string]: unknown }[];
  /** The content for programs. */
  structuredContent?: unknown;
  /** Whether the tool failed. The content has the reason. */
  isError?: boolean;
  /** Further members, such as the handle of a result that was stored. */
  _meta?: { [key: string]: unknown };
}

/**
 * An event of the response to a request with the header `Accept: text/event-stream`: the JSON of its `data`. The last
 * event is the result, or the error of a call that could not begin. Comments keep the connection alive in between.
 */
export type ToolCallEvent =
  | { type: "progress"; progress: number; total?: number; message?: string }
  | { type: "result"; result: ToolCallResponse }
  | { type: "error"; error: string; message: string; requestId?: string };

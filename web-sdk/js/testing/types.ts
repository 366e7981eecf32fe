/** The types of tests: a client, and its results. */

import type { LogLevel, Root } from "../types/calls.ts";
import type { ContentBlock } from "../types/content.ts";
import type { Unsubscribe } from "../types/options.ts";

/** An MCP client for tests. */
export interface TestClient extends AsyncDisposable {
  /** Lists the tools of the pages, as clients receive them. Those of the bridge itself are left out. */
  listTools(): Promise<ListedTool[]>;
  /**
   * Calls a tool.
   *
   * A failure of the tool is a result with `isError`, as for every MCP client.
   *
   * @throws McpError if there is no such tool.
   */
  callTool<Structured = any>(name: string, args?: object, options?: RequestOptions): Promise<CallToolResult<Structured>>;
  /** The resources of the pages. */
  listResources(): Promise<ListedItem[]>;
  /** The resource templates of the pages. */
  listResourceTemplates(): Promise<ListedItem[]>;
  /**
   * Reads a resource.
   *
   * @throws McpError if no page serves the URI, or its handler fails.
   */
  readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult>;
  /** Calls the listener at every change of a resource, until the returned function is called. */
  subscribe(uri: string, listener: () => void): Promise<Unsubscribe>;
  /** The prompts of the pages. */
  /** Lists the prompts of the pages. */
  listPrompts(): Promise<ListedItem[]>;
  /**
   * Gets a prompt.
   *
   * @throws McpError if there is no such prompt, an argument is missing, or the handler fails.
   */
  getPrompt(name: string, args?: object, options?: RequestOptions): Promise<GetPromptResult>;
  /**
   * Completes an argument of a prompt, or a variable of a resource template.
   *
   * @param args the arguments that already have values
   */
  complete(
    reference: { prompt: string } | { uriTemplate: string },
    argument: { name: string; value: string },
    args?: object,
  ): Promise<CompleteResult>;
  /** Calls the listener at every change of a list, until the returned function is called. */
  onListChanged(listener: (list: "tools" | "prompts" | "resources") => void): Unsubscribe;
  /** Disconnects. Running calls are cancelled. */
  close(): Promise<void>;
}

/** The name of the client, and its answers to requests of handlers. It does not declare capabilities without an answer. */
export interface TestClientOptions {
  /**
   * The name of the client.
   *
   * @defaultValue `"test client"`
   */
  name?: string;
  /**
   * The version of the client.
   *
   * @defaultValue `"1.0.0"`
   */
  version?: string;
  /** Answers `ctx.elicit()`: receives the parameters of MCP's `elicitation/create`. */
  elicit?: (params: any) => Answer<ElicitResult>;
  /** Answers `ctx.sample()`: receives the parameters of MCP's `sampling/createMessage`. */
  sample?: (params: any) => Answer<SampleResult>;
  /** Answers `ctx.listRoots()`. */
  roots?: () => Answer<Root[]>;
}

type Answer<Result> = Result | Promise<Result>;

/** The answer of a person to a form or a link. */
export interface ElicitResult {
  /** The person's decision: sends the form or opens the link, declines, or closes the question. */
  action: "accept" | "decline" | "cancel";
  /** The values of the form, if it is sent. */
  content?: object;
}

/** The answer of a client's model. */
export interface SampleResult {
  /** The role of the author: `assistant`. */
  role: "user" | "assistant";
  /** The content in MCP's format: a block, or an array of blocks. */
  content: object | object[];
  /** The name of the model. */
  model: string;
  /** Why the model stopped. */
  stopReason?: string;
}

/** The options of a request besides its parameters. */
export interface RequestOptions {
  /** The id or the name of a page, if several pages have the item. */
  session?: string;
  /** Cancels the request; its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Receives the progress. Without it, the handler's `ctx.progress` does nothing. */
  onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
  /** Receives the log of the handler. Over a real bridge, it also receives that of other running calls of the client. */
  onLog?: (entry: { level: LogLevel; data: any; logger?: string }) => void;
  /**
   * The minimum severity of the log.
   *
   * @defaultValue `"debug"`
   */
  logLevel?: LogLevel;
}

/** The result of a tool. */
export interface CallToolResult<Structured = any> {
  /** The content for the model and the person. */
  content: ContentBlock[];
  /** The content for programs. */
  structuredContent?: Structured;
  /** Whether the tool failed. The content has the reason, and the code is in `_meta["mcp-web/error"].code`. */
  isError: boolean;
  /** Further fields of the page and the bridge. */
  _meta?: { [key: string]: any };
}

/** The content of a resource. */
export interface ReadResourceResult {
  /** The parts of the content, each with text or base64. */
  contents: { uri: string; mimeType?: string; text?: string; blob?: string; _meta?: object }[];
  /** Further fields of the page and the bridge. */
  _meta?: object;
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult {
  /** The purpose of the prompt. */
  description?: string;
  /** The messages, in order. */
  messages: { role: "user" | "assistant"; content: any }[];
  /** Further fields of the page and the bridge. */
  _meta?: object;
}

/** The suggestions of a page. */
export interface CompleteResult {
  /** The values, best first: at most 100. */
  values: string[];
  /** The total number of values. */
  total?: number;
  /** Whether there are more values. */
  hasMore?: boolean;
}

/** A tool, as clients see it. */
export interface ListedTool {
  /** The name to call it by. */
  name: string;
  /** A name for people. */
  title?: string;
  /** The description for the model. */
  description?: string;
  /** The JSON Schema of the arguments. */
  inputSchema: any;
  /** The JSON Schema of the structured content. */
  outputSchema?: any;
  /** Hints about the tool's behaviour. */
  annotations?: any;
  /** Further fields of the page and the bridge. */
  _meta?: any;
}

/** A prompt, a resource or a resource template, as clients see it. */
export interface ListedItem {
  /** The name of a prompt, or a name for programs. */
  name: string;
  /** A name for people. */
  title?: string;
  /** The description for the model. */
  description?: string;
  /** The URI of a resource. */
  uri?: string;
  /** The template of a resource template. */
  uriTemplate?: string;
  /** The type of the content, if it is known. */
  mimeType?: string;
  /** The arguments of a prompt. */
  arguments?: { name: string; description?: string; required?: boolean }[];
  /** Hints for clients. */
  annotations?: any;
  /** Further fields of the page and the bridge. */
  _meta?: any;
}

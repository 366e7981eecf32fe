/** What tests use: a client, and what it gets. */

import type { LogLevel, Root } from "../types/calls.ts";
import type { ContentBlock } from "../types/content.ts";
import type { Unsubscribe } from "../types/options.ts";

/** An MCP client for tests. */
export interface TestClient extends AsyncDisposable {
  /** Lists the tools of the pages, as clients get them. Those of the bridge itself are left out. */
  listTools(): Promise<ListedTool[]>;
  /**
   * Calls a tool.
   *
   * A failure of the tool is a result with `isError`, as for every MCP client.
   *
   * @throws McpError when there is no such tool.
   */
  callTool<Structured = any>(name: string, args?: object, options?: RequestOptions): Promise<CallToolResult<Structured>>;
  /** The resources of the pages. */
  listResources(): Promise<ListedItem[]>;
  /** The resource templates of the pages. */
  listResourceTemplates(): Promise<ListedItem[]>;
  /**
   * Reads a resource.
   *
   * @throws McpError when no page serves the URI, or its handler fails.
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
   * @throws McpError when there is no such prompt, an argument is missing, or the handler fails.
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
  /** Disconnects. Calls that run are cancelled. */
  close(): Promise<void>;
}

/** Who the client is, and how it answers what handlers ask it. What it has no answer for it does not declare. */
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
  /** Answers `ctx.elicit()`: gets the parameters of MCP's `elicitation/create`. */
  elicit?: (params: any) => Answer<ElicitResult>;
  /** Answers `ctx.sample()`: gets the parameters of MCP's `sampling/createMessage`. */
  sample?: (params: any) => Answer<SampleResult>;
  /** Answers `ctx.listRoots()`. */
  roots?: () => Answer<Root[]>;
}

type Answer<Result> = Result | Promise<Result>;

/** How a person answers a form or a link. */
export interface ElicitResult {
  /** What the person does: sends the form or opens the link, declines, or closes the question. */
  action: "accept" | "decline" | "cancel";
  /** The values of the form, if it is sent. */
  content?: object;
}

/** What a client's model says. */
export interface SampleResult {
  /** Whose message it is: `assistant`. */
  role: "user" | "assistant";
  /** The content, as MCP has it: a block, or an array of blocks. */
  content: object | object[];
  /** The name of the model. */
  model: string;
  /** Why the model stopped. */
  stopReason?: string;
}

/** What a request may have besides its parameters. */
export interface RequestOptions {
  /** The id or the name of a page, where several have what is asked for. */
  session?: string;
  /** Cancels the request; its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Gets the progress. Without it, the handler's `ctx.progress` does nothing. */
  onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
  /** Gets the log of the handler. Over a real bridge, also that of other calls of the client that run. */
  onLog?: (entry: { level: LogLevel; data: any; logger?: string }) => void;
  /**
   * The least grave level of the log.
   *
   * @defaultValue `"debug"`
   */
  logLevel?: LogLevel;
}

/** The result of a tool. */
export interface CallToolResult<Structured = any> {
  /** What model and person see. */
  content: ContentBlock[];
  /** What programs see. */
  structuredContent?: Structured;
  /** Whether the tool failed; the content says why, and the code is in `_meta["mcp-web/error"].code`. */
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
  /** What the prompt is for. */
  description?: string;
  /** The messages, in their order. */
  messages: { role: "user" | "assistant"; content: any }[];
  /** Further fields of the page and the bridge. */
  _meta?: object;
}

/** What a page proposes. */
export interface CompleteResult {
  /** The values, best first: at most 100. */
  values: string[];
  /** How many values there are in total. */
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
  /** What it is for, for the model. */
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
  /** What it is for, for the model. */
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

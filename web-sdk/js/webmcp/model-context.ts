/** The browser's API for the tools of a page (WebMCP), as far as it is used here. Polyfills have it in part. */

/** The document, where the browser has the API. */
export interface ModelContextDocument {
  readonly modelContext?: ModelContext;
  readonly featurePolicy?: { features(): string[]; allowsFeature(name: string): boolean };
}

/** `document.modelContext`. */
export interface ModelContext {
  /** Polyfills of earlier drafts return no promise, and throw. */
  registerTool(tool: ModelContextTool, options: { signal: AbortSignal }): unknown;
  getTools?(): Promise<RegisteredTool[]>;
  executeTool(tool: RegisteredTool, input: unknown, options: { signal: AbortSignal }): Promise<string | null>;
  addEventListener?: EventTarget["addEventListener"];
  removeEventListener?: EventTarget["removeEventListener"];
}

/** A tool as it is registered. */
export interface ModelContextTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: object;
  annotations: BrowserHints;
  /** Polyfills pass no signal, or something else. */
  execute(input: unknown, options?: { signal?: AbortSignal }): Promise<string>;
}

/** A tool as `getTools()` describes it. */
export interface RegisteredTool {
  name: string;
  title?: string;
  description: string;
  /** Polyfills of earlier drafts have JSON text. */
  inputSchema?: object | string;
  annotations?: BrowserHints;
  /** The window that it is registered in. */
  window?: Window;
}

/** The annotations that the browser knows. */
export interface BrowserHints {
  readOnlyHint?: boolean;
  consequentialHint?: boolean;
  untrustedContentHint?: boolean;
  debugging?: boolean;
}

/** Returns the API. It is looked up each time, because scripts may replace it. */
export const modelContext = (): ModelContext | undefined => (globalThis.document as ModelContextDocument | undefined)?.modelContext;

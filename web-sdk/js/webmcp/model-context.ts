/** The part of the browser's API for the tools of a page (WebMCP) that is used here. Polyfills implement it partially. */

import { read } from "../dom/native.ts";

/** The document, if the browser has the API. */
export interface ModelContextDocument extends Document {
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

/** A tool to register. */
export interface ModelContextTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: object;
  annotations: BrowserHints;
  /** Polyfills pass no signal, or another value. */
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
  /** The window in which it is registered. */
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
export function modelContext(): ModelContext | undefined {
  const document = globalThis.document as ModelContextDocument | undefined;
  return document && (scriptContext(document) ?? read(document, "modelContext"));
}

/** Returns the API that a script has added to the document itself, where an element with that name could also be. */
function scriptContext(document: ModelContextDocument): ModelContext | undefined {
  const context = Object.getOwnPropertyDescriptor(document, "modelContext");
  const value = context?.get ? Reflect.apply(context.get, document, []) : context?.value;
  try {
    return typeof value?.registerTool === "function" ? value : undefined;
  } catch {
    // A frame of another origin with that name.
    return undefined;
  }
}

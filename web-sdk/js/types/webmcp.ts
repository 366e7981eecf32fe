/** Options for sharing tools with the browser (WebMCP). */

import type { ToolAnnotations } from "./definitions.ts";

/** The tools that a page shares with the browser. */
export interface WebMcpOptions {
  /**
   * Whether the page's tools are also registered at `document.modelContext`, for agents of the browser. A tool with
   * `webmcp: false` is not.
   *
   * @defaultValue `true`
   */
  mirror?: boolean;
  /**
   * Whether tools and forms that are registered only at `document.modelContext` are offered to AI clients, including those
   * of libraries.
   *
   * @defaultValue `true`
   */
  import?: boolean;
  /**
   * Whether tools of frames of this origin are also imported.
   *
   * @defaultValue `false`
   */
  frames?: boolean;
  /** Called when the imported tools change, with all of them, in the order of the browser. */
  onImportsChange?(tools: readonly ImportedTool[]): void;
}

/** A tool of the browser that is offered to AI clients. */
export interface ImportedTool {
  /** The name with which it is registered. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** A description of its purpose. */
  readonly description: string;
  /** The schema of its input. */
  readonly inputSchema?: { readonly [keyword: string]: unknown };
  /** The hints of the browser, converted to those of MCP. */
  readonly annotations?: ToolAnnotations;
  /** Whether it is a form of the document (`<form toolname>`). */
  readonly isForm: boolean;
}

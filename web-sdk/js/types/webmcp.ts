/** How a page shares tools with the browser (WebMCP). */

import type { ToolAnnotations } from "./definitions.ts";

/** What a page shares with the browser. */
export interface WebMcpOptions {
  /**
   * Whether the tools that the page adds are registered at `document.modelContext`, too, for agents of the browser. A tool
   * with `webmcp: false` is not.
   *
   * @defaultValue `true`
   */
  mirror?: boolean;
  /**
   * Whether the tools and the forms that are registered only at `document.modelContext` are offered to AI clients, by this
   * page or by libraries that it uses.
   *
   * @defaultValue `true`
   */
  import?: boolean;
  /**
   * Whether tools of frames of this origin are imported, too.
   *
   * @defaultValue `false`
   */
  frames?: boolean;
  /** Hears of every change of what is imported, with all of it, in the order of the browser. */
  onImportsChange?(tools: readonly ImportedTool[]): void;
}

/** A tool of the browser that is offered to AI clients. */
export interface ImportedTool {
  /** The name that it is registered with. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** What it is for. */
  readonly description: string;
  /** What its input must look like. */
  readonly inputSchema?: { readonly [keyword: string]: unknown };
  /** The hints of the browser, in the words of MCP. */
  readonly annotations?: ToolAnnotations;
  /** Whether it is a form of the document (`<form toolname>`). */
  readonly isForm: boolean;
}

/** The annotations of tools: those of MCP, and those of the browser. */

import type { ToolAnnotations } from "../types/definitions.ts";
import type { BrowserHints } from "./model-context.ts";

/**
 * Returns the browser's hints for the annotations. A tool that is not read-only is destructive, unless it declares
 * otherwise.
 */
export function browserHints({ readOnlyHint, destructiveHint, openWorldHint }: ToolAnnotations = {}): BrowserHints {
  return {
    readOnlyHint: readOnlyHint === true,
    consequentialHint: destructiveHint ?? readOnlyHint !== true,
    untrustedContentHint: openWorldHint === true,
  };
}

/** Returns MCP's annotations. The browser does not distinguish `false` from absent hints. */
export function mcpAnnotations(hints: BrowserHints | undefined): ToolAnnotations | undefined {
  const annotations = {
    ...(hints?.readOnlyHint && { readOnlyHint: true }),
    ...(hints?.consequentialHint && { destructiveHint: true }),
    ...(hints?.untrustedContentHint && { openWorldHint: true }),
  };
  return Object.keys(annotations).length ? annotations : undefined;
}

/** Decides whether the module for the browser's tools (WebMCP) is loaded. */

import { read } from "../dom/native.ts";
import type { ModelContextDocument } from "./model-context.ts";

/** Returns whether the browser has an API for tools that this page may use. */
export function canShareTools(): boolean {
  const document = globalThis.document as ModelContextDocument | undefined;
  if (!document || !("modelContext" in document)) return false;
  const policy = read(document, "featurePolicy");
  // If a script has added the API, the browser does not know the feature, and reports that it is not allowed.
  return !policy?.features().includes("tools") || policy.allowsFeature("tools");
}

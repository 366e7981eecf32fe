/** Warnings for who develops the app: what AI clients will make of a definition. */

import type { DefinitionKind } from "./registration.ts";
import { inBrowser } from "./environment.ts";

type WarningsModule = typeof import("../mcp-web-dev-warnings.ts");
type ImportWarnings = () => Promise<WarningsModule>;

const onThisMachine = () => inBrowser && /^(localhost$|127\.|\[::1\])/.test(globalThis.location?.hostname);

/** Loads the module of warnings and calls `use` with it. On other machines than this one, nothing is loaded. */
export function withWarnings(importWarnings: ImportWarnings, use: (module: WarningsModule) => void): void {
  if (onThisMachine()) importWarnings().then(use, () => {});
}

/** Writes the warnings about a definition to the console. */
export function warnAboutDefinition(importWarnings: ImportWarnings, kind: DefinitionKind, json: string): void {
  withWarnings(importWarnings, ({ warningsFor }) => {
    for (const warning of warningsFor(kind, JSON.parse(json))) console.warn(`mcp-web: ${warning}`);
  });
}

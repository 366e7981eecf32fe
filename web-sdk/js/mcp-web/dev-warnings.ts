/** Development warnings: how AI clients will interpret a definition. */

import type { DefinitionKind } from "./registration.ts";

const onThisMachine = () => /^(localhost$|127\.|\[::1\])/.test(globalThis.location?.hostname);

/** Writes the warnings about a definition to the console. On machines other than this one, nothing is loaded. */
export function warnAboutDefinition(kind: DefinitionKind, json: string): void {
  if (!onThisMachine()) return;
  import("../mcp-web-dev-warnings.ts").then(
    ({ warningsFor }) => {
      for (const warning of warningsFor(kind, JSON.parse(json))) console.warn(`mcp-web: ${warning}`);
    },
    () => {},
  );
}

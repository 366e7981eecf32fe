/** Facts about the SDK's own state, for a diagnosis. */

import type { McpWebError } from "../mcp-web/error.ts";
import type { McpWebOptions } from "../types/options.ts";
import type { Status } from "../types/status.ts";

/** One added definition. */
export interface DefinitionFacts {
  kind: string;
  id: string;
  publishedName: string | undefined;
  refusal: McpWebError | undefined;
}

/** The token is among the facts, but in nothing that a diagnosis returns. */
export interface DiagnosisFacts {
  bridgeUrl: string;
  status: Status;
  sessionId: string | undefined;
  sessionName: string | undefined;
  storage: NonNullable<McpWebOptions["storage"]>;
  token: string | undefined;
  tokenIsFetched: boolean;
  definitions: DefinitionFacts[];
}

/** The parts of the page that calls and queries use. */

import type { PageDialogRequest } from "../dialog/request.ts";
import type { QueriesPort } from "../query/messages.ts";
import type { ElicitAnswer } from "../types/calls.ts";
import type { McpWebOptions } from "../types/options.ts";
import type { CoreConnection } from "./core.ts";
import type { Definitions } from "./definitions.ts";
import { McpWebError } from "./error.ts";
import type { ImageLimit } from "./scale-images.ts";
import { elicitInPage, importImages } from "./lazy.ts";
import { toolResult } from "./results.ts";
import { parseWith, toJsonSchema } from "./schemas.ts";

/** The part of the page that calls use: the wasm's functions for them, and the dialog for the page's own user. */
export interface CallPort {
  /** Returns the wasm connection. */
  connection(): Pick<CoreConnection, "progress" | "log" | "handOver" | "ask">;
  elicitInPage(): McpWebOptions["elicitInPage"];
  importImages: ImageLimit["load"];
  dialog(request: PageDialogRequest, signal: AbortSignal): Promise<ElicitAnswer<object>>;
}

/** Returns the port of calls. The connection exists while there are calls. */
export const callPort = (options: () => McpWebOptions, connection: () => CoreConnection) => ({
  connection,
  elicitInPage: () => options().elicitInPage,
  importImages,
  dialog: (request: PageDialogRequest, signal: AbortSignal) => {
    const { name, dialogStrings } = options();
    return elicitInPage({ ...request, appName: name, ...(dialogStrings && { strings: dialogStrings }) }, signal);
  },
});

/** Returns the port of queries. */
export const queriesPort = (
  port: ReturnType<typeof callPort>,
  options: () => McpWebOptions,
  definitions: Definitions,
  maxBytes: () => number | undefined,
): QueriesPort => ({
  ...port,
  McpWebError,
  parseWith,
  toolResult,
  tools: () => definitions.all,
  approvals: () => options().approvals,
  maxBytes,
  jsonSchema: toJsonSchema,
});

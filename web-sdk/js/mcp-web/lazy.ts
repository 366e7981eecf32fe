/** Modules that are loaded when a page needs them. */

import type { DialogRequest } from "../dialog/request.ts";
import type { ElicitAnswer } from "../types/calls.ts";
import type { McpWebErrorCode } from "../types/error-codes.ts";
import { McpWebError } from "./error.ts";

/** Waits for a module, and reports the missing file if it cannot be loaded. `feature` begins the error's code. */
export const loadModule = <Module>(importing: Promise<Module>, name: string, feature: string): Promise<Module> =>
  importing.catch((cause) => {
    const code = `${feature}Unavailable` as McpWebErrorCode;
    throw new McpWebError(code, `mcp-web-${name}.js of the SDK could not be loaded`, { cause });
  });

export const importImages = () => import("../mcp-web-images.ts");

export const importDiagnosis = () => import("../mcp-web-diagnose.ts");

const importDialog = () => loadModule(import("../mcp-web-dialog.ts"), "dialog", "Dialog");

/** The last load. Loads follow each other, so that dialogs are shown in the order in which they were requested. */
let loading: Promise<unknown> = Promise.resolve();

/** Asks the user of the page instead of a client. */
export async function elicitInPage(
  request: DialogRequest,
  signal: AbortSignal,
): Promise<ElicitAnswer<object>> {
  if (typeof document !== "object") throw new McpWebError("DialogUnavailable", "a worker has no document for a dialog");
  const loaded = loading.then(importDialog, importDialog);
  loading = loaded;
  const { elicit } = await loaded;
  return elicit(request, signal);
}

/** Modules that are loaded when a page needs them. */

import { McpWebError } from "./error.js";

/** Says which file is missing where a module cannot be loaded. */
export const loaded = (importing, name, what) =>
  importing.catch((cause) => {
    throw new McpWebError(`${what}Unavailable`, `mcp-web-${name}.js of the SDK's package could not be loaded`, { cause });
  });

/** Asks the user of the page in place of a client. */
export async function askInPage(importDialog, request, signal) {
  if (typeof document !== "object") throw new McpWebError("DialogUnavailable", "a worker has no document for a dialog");
  const { elicit } = await loaded(importDialog(), "dialog", "Dialog");
  return elicit(request, signal);
}

/** Validates the options of `new McpWeb()`. */

import type { McpWebOptions } from "../types/options.ts";
import { isObject } from "./type-guards.ts";

const DEFAULT_BRIDGE = "http://localhost:3001";

/** A bridge accepts 64 KiB from a page that it does not know yet, including the description of the page. */
const MAX_ICON_LENGTH = 32_768;

/** Returns a copy of the options. Throws a `TypeError` if one of them has the wrong type. */
export function validateOptions(options: McpWebOptions): McpWebOptions {
  if (!isObject(options) || typeof options.name !== "string" || !options.name.trim()) {
    throw new TypeError('new McpWeb() needs the name of your app: { name: "My app" }');
  }
  const { authToken, elicitInPage, storage } = options;
  const isValidToken = authToken === undefined || typeof authToken === "function" || (typeof authToken === "string" && authToken);
  if (!isValidToken) throw new TypeError("authToken must be a non-empty string or a function that returns one");
  if (![undefined, "local", "session", "none"].includes(storage)) {
    throw new TypeError('storage must be "local", "session" or "none"');
  }
  if (![undefined, "never", "fallback", "always"].includes(elicitInPage)) {
    throw new TypeError('elicitInPage must be "never", "fallback" or "always"');
  }
  for (const field of ["description", "version", "icon", "sessionId", "sessionName"] as const) {
    const text = options[field];
    if (text !== undefined && typeof text !== "string") throw new TypeError(`${field} must be a string`);
  }
  const copy: McpWebOptions = { ...options };
  if (copy.icon && copy.icon.length > MAX_ICON_LENGTH) {
    console.warn(`mcp-web: icons over ${MAX_ICON_LENGTH} characters are left out`);
    delete copy.icon;
  }
  return copy;
}

/** Returns the bridge's address without a trailing slash, always http or https. */
export function resolveBridgeUrl(given: string | undefined, moduleUrl: string | undefined): string {
  let url;
  try {
    url = new URL(given ?? servingBridge(moduleUrl) ?? DEFAULT_BRIDGE);
  } catch (cause) {
    throw new TypeError(`bridgeUrl "${given}" is not a URL: give one such as "${DEFAULT_BRIDGE}"`, { cause });
  }
  url.protocol = url.protocol.replace(/^ws/, "http");
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`bridgeUrl "${given}" must start with http:// or https://`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** If the module was loaded from a bridge, whose `public_url` may have a path before `/sdk/`, that bridge is the default. */
function servingBridge(moduleUrl = ""): string | undefined {
  return /^(https?:\/\/[^?#]+)\/sdk\/mcp-web[^/]*$/.exec(moduleUrl)?.[1];
}

/** The bridge sends pages and AI clients the same message about a token. For a page, this adds the name of its option. */
export const addOptionName = (code: string, message: string): string =>
  /^(InvalidAuthentication|TokenExpired)$/.test(code) ? `${message} (authToken of new McpWeb())` : message;

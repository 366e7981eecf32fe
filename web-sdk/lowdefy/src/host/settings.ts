/** The settings in `lowdefy.yaml` under the key `mcp`. */

import { type PageToolsLimits, completeLimits } from "mcp-web-sdk/page-driver";

import { AppError } from "../engine/app-error.ts";
import { EVALUATORS } from "../engine/known-texts.ts";
import { DEFAULT_EXPIRY_MS, DEFAULT_MAX_SESSIONS } from "../stores/store-options.ts";

/** How AI clients may use the app. */
export interface Settings {
  /** The default format of a page's text. */
  format: "outline" | "markdown";
  /** The limits of page tools. */
  page: Partial<PageToolsLimits>;
  /** Maximum number of active sessions of a user. */
  maxSessionsPerUser: number;
  /** The number of minutes without a call after which a session expires. */
  sessionExpiryMinutes: number;
  /** Maximum number of calls of a user within a minute; further ones are rejected. */
  callsPerMinute: number;
  /** Maximum processor time of a call, in milliseconds. */
  maxCallCpuMs: number;
  /** Maximum size of a session's state, in bytes. */
  maxStateBytes: number;
  /** Maximum number of items of a list. */
  maxListItems: number;
  /** Operators and actions that may run texts as code or pattern that are not in the app's configuration. */
  dynamicOperators: readonly string[];
}

/** The limits of this host under `mcp.limits`, each with its default and maximum. */
export const HOST_LIMITS = {
  maxSessionsPerUser: [DEFAULT_MAX_SESSIONS, 10_000],
  sessionExpiryMinutes: [DEFAULT_EXPIRY_MS / 60_000, 525_600],
  callsPerMinute: [6000, 1_000_000],
  // Half of the processor time of a process in its lifetime.
  maxCallCpuMs: [10_000, 300_000],
  maxStateBytes: [2 * 1024 * 1024, 15 * 1024 * 1024],
  maxListItems: [500, 10_000],
} as const;
const KEYS = ["format", "limits", "dynamicOperators"];

/** Reads the settings. @throws AppError if one is unknown or out of range. */
export function readSettings(mcp: unknown): Settings {
  const given = asObject(mcp ?? {}, "mcp");
  for (const key of Object.keys(given)) {
    if (!KEYS.includes(key)) throw new AppError(`lowdefy.yaml: mcp.${key} is not known: there are ${KEYS.map((known) => `mcp.${known}`).join(", ")}`);
  }
  const { format = "markdown" } = given;
  if (format !== "outline" && format !== "markdown") throw new AppError("lowdefy.yaml: mcp.format must be outline or markdown");
  const limits = asObject(given.limits ?? {}, "mcp.limits");
  const own = Object.entries(HOST_LIMITS).map(([name, [standard, most]]) => {
    const value = limits[name] ?? standard;
    if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > most) {
      throw new AppError(`lowdefy.yaml: mcp.limits.${name} must be a whole number from 1 to ${most}`);
    }
    return [name, value];
  });
  const page = Object.fromEntries(Object.entries(limits).filter(([name]) => !(name in HOST_LIMITS))) as Partial<PageToolsLimits>;
  try {
    completeLimits(page);
  } catch (error) {
    const message = (error as Error).message.replace("enablePageTools(): limits.", "mcp.limits.").replace("enablePageTools(): ", "mcp.limits: ");
    throw new AppError(`lowdefy.yaml: ${message}${error instanceof RangeError ? "" : `, ${Object.keys(HOST_LIMITS).join(", ")}`}`);
  }
  return { format, page, dynamicOperators: readDynamicOperators(given.dynamicOperators), ...(Object.fromEntries(own) as Pick<Settings, keyof typeof HOST_LIMITS>) };
}

function readDynamicOperators(names: unknown = []): string[] {
  if (Array.isArray(names) && names.every((name) => EVALUATORS.includes(name))) return names;
  throw new AppError(`lowdefy.yaml: mcp.dynamicOperators must be a list of some of ${EVALUATORS.join(", ")}`);
}

function asObject(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new AppError(`lowdefy.yaml: ${name} must be a mapping`);
  return value as Record<string, unknown>;
}

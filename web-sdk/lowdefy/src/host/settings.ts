/** What `lowdefy.yaml` says under its key `mcp`. */

import { type PageToolsLimits, completeLimits } from "mcp-web-sdk/page-driver";

import { AppError } from "../engine/app-error.ts";
import { EVALUATORS } from "../engine/known-texts.ts";

/** How AI clients may use the app. */
export interface Settings {
  /** How the text of a page is written if a call does not say. */
  format: "outline" | "markdown";
  /** The limits of page tools. */
  page: Partial<PageToolsLimits>;
  /** The active sessions of a user. */
  maxSessionsPerUser: number;
  /** After how many minutes without a call a session expires. */
  sessionExpiryMinutes: number;
  /** The calls of a user within a minute; none more are begun. */
  callsPerMinute: number;
  /** The processor time that a call may use, in milliseconds. */
  maxCallCpuMs: number;
  /** Number of bytes of a session's state. */
  maxStateBytes: number;
  /** Number of items of a list. */
  maxListItems: number;
  /** Operators and actions that may run texts which are not in the app's configuration as code or pattern. */
  dynamicOperators: readonly string[];
}

/** The limits of this host, each with its default and the most. */
const OWN_LIMITS = {
  maxSessionsPerUser: [50, 10_000],
  sessionExpiryMinutes: [1440, 525_600],
  callsPerMinute: [6000, 1_000_000],
  // Half of the processor time of a process in its life.
  maxCallCpuMs: [10_000, 300_000],
  maxStateBytes: [2 * 1024 * 1024, 15 * 1024 * 1024],
  maxListItems: [500, 10_000],
} as const;
const KEYS = ["format", "limits", "dynamicOperators"];

/** Reads the settings. @throws AppError when one is not known or out of its range. */
export function readSettings(mcp: unknown): Settings {
  const given = asObject(mcp ?? {}, "mcp");
  for (const key of Object.keys(given)) {
    if (!KEYS.includes(key)) throw new AppError(`lowdefy.yaml: mcp.${key} is not known: there are ${KEYS.map((known) => `mcp.${known}`).join(", ")}`);
  }
  const { format = "markdown" } = given;
  if (format !== "outline" && format !== "markdown") throw new AppError("lowdefy.yaml: mcp.format must be outline or markdown");
  const limits = asObject(given.limits ?? {}, "mcp.limits");
  const own = Object.entries(OWN_LIMITS).map(([name, [standard, most]]) => {
    const value = limits[name] ?? standard;
    if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > most) {
      throw new AppError(`lowdefy.yaml: mcp.limits.${name} must be a whole number from 1 to ${most}`);
    }
    return [name, value];
  });
  const page = Object.fromEntries(Object.entries(limits).filter(([name]) => !(name in OWN_LIMITS))) as Partial<PageToolsLimits>;
  try {
    completeLimits(page);
  } catch (error) {
    const message = (error as Error).message.replace("enablePageTools(): limits.", "mcp.limits.").replace("enablePageTools(): ", "mcp.limits: ");
    throw new AppError(`lowdefy.yaml: ${message}${error instanceof RangeError ? "" : `, ${Object.keys(OWN_LIMITS).join(", ")}`}`);
  }
  return { format, page, dynamicOperators: readDynamicOperators(given.dynamicOperators), ...(Object.fromEntries(own) as Pick<Settings, keyof typeof OWN_LIMITS>) };
}

function readDynamicOperators(names: unknown = []): string[] {
  if (Array.isArray(names) && names.every((name) => EVALUATORS.includes(name))) return names;
  throw new AppError(`lowdefy.yaml: mcp.dynamicOperators must be a list of some of ${EVALUATORS.join(", ")}`);
}

function asObject(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new AppError(`lowdefy.yaml: ${name} must be a mapping`);
  return value as Record<string, unknown>;
}

/** The arguments of page tools. Their schemas have types only: ranges and combinations are checked here. */

import type { UnknownObject } from "../mcp-web/type-guards.ts";
import { invalidArguments } from "./failure.ts";

/** The values of `view`. */
export type ViewName = "auto" | "page" | "changes" | "none";
/** The values of `format`. */
export type FormatName = "outline" | "markdown";

/** The search criteria of `page_query`. */
export interface QueryFind {
  role?: string;
  name?: string;
  text?: string;
  id?: string;
  testId?: string;
}

const VIEWS: readonly unknown[] = ["auto", "page", "changes", "none"];
const FORMATS: readonly unknown[] = ["outline", "markdown"];
const ON_ERROR: readonly unknown[] = ["stop", "continue"];

export function parseView({ view = "auto" }: UnknownObject): ViewName {
  if (!VIEWS.includes(view)) throw invalidArguments("ArgumentInvalid", `view must be one of ${VIEWS.join(", ")}`);
  return view as ViewName;
}

export function parseFormat({ format }: UnknownObject, standard: FormatName): FormatName {
  if (format === undefined || format === null) return standard;
  if (!FORMATS.includes(format)) throw invalidArguments("ArgumentInvalid", `format must be one of ${FORMATS.join(", ")}`);
  return format as FormatName;
}

/** Returns whether the list continues after a failed action. */
export function parseContinues({ onError = "stop" }: UnknownObject): boolean {
  if (!ON_ERROR.includes(onError)) throw invalidArguments("ArgumentInvalid", `onError must be one of ${ON_ERROR.join(", ")}`);
  return onError === "continue";
}

/** Returns a number of elements. */
export function parseCount(args: UnknownObject, name: string, standard: number, most: number): number {
  const count = args[name] ?? standard;
  if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > most) {
    throw invalidArguments("ArgumentInvalid", `${name} must be a whole number from 1 to ${most}`);
  }
  return count as number;
}

export function parseFind(args: UnknownObject): QueryFind {
  const fields = ["role", "name", "text", "id", "testId"];
  const given = fields.filter((field) => typeof args[field] === "string" && args[field]);
  if (!given.length) throw invalidArguments("ArgumentInvalid", `page_query needs at least one of ${fields.join(", ")}`);
  return Object.fromEntries(given.map((field) => [field, args[field]])) as QueryFind;
}

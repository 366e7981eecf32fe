/** One check of a diagnosis. */

import type { DiagnosisCheck } from "../types/status.ts";
import type { BrowserRestriction } from "./browser-restrictions.ts";

const check =
  (status: DiagnosisCheck["status"]) =>
  (name: string, message: string, remedy?: string): DiagnosisCheck => ({ name, status, message, ...(remedy && { remedy }) });

export const passed = check("passed");
export const failed = check("failed");
export const warning = check("warning");
export const unknown = check("unknown");

/** Returns a failed check because of a restriction. */
export const failedBy = (name: string, { code, what, remedy }: BrowserRestriction) => failed(name, `${code}: ${what}`, remedy);

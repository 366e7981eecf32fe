/** Checks the state of the SDK itself. */

import { read } from "../dom/native.ts";
import type { DiagnosisFacts } from "./diagnosis-facts.ts";
import { failed, passed, unknown, warning } from "./check.ts";

export function connectionCheck({ status }: DiagnosisFacts) {
  const { state } = status;
  const error = "error" in status ? status.error : undefined;
  const name = "connection";
  if (state === "connected") return passed(name, "connected");
  const what = error ? `${state}, ${error.code}: ${error.message}` : state;
  return state === "failed" ? failed(name, what) : warning(name, what);
}

export function definitionsCheck({ definitions, status }: DiagnosisFacts) {
  const name = "registration";
  const refused = definitions.filter(({ refusal }) => refusal !== undefined);
  const registered = definitions.filter(({ publishedName }) => publishedName !== undefined);
  const counted = `${registered.length} of ${definitions.length} registered`;
  if (refused.length) {
    const each = refused.map(({ kind, id, refusal }) => `${kind} "${id}" (${refusal!.code}: ${refusal!.message})`);
    return failed(name, `${counted}; refused: ${each.join("; ")}`, "correct the refused items");
  }
  if (status.state !== "connected") return unknown(name, `${counted}, while there is no connection`);
  return registered.length === definitions.length ? passed(name, counted) : warning(name, `${counted}, the others are under way`);
}

/** Browsers slow down hidden pages, and freeze or discard them after some time. */
export function lifecycleCheck() {
  const name = "page";
  const { document } = globalThis;
  if (!document) return passed(name, "a worker, which is never shown");
  const before = read(document as Document & { wasDiscarded?: boolean }, "wasDiscarded") ? "; the browser had discarded it before" : "";
  if (!read(document, "hidden")) return passed(name, `visible${before}`);
  return warning(name, `hidden${before}`, "bring the tab to the front if calls fail with PageSuspended: browsers freeze hidden pages");
}
